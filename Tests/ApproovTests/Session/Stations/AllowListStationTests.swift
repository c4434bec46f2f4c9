import ApproovTesting
import Attestation
import CertificatePinning
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

@Suite struct AllowListStationTests {
    private func check(_ url: String, allHosts: Bool = false, cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy) throws {
        let world = try World()
        let manager = ApproovTrustManager(
            allHostsMustBeEvaluated: allHosts, evaluators: ["evaluated.test": DefaultTrustEvaluator()], anchors: .of(world.account.root),
            logger: .silent)
        let policies = try PolicySource(manager: manager, keeper: world.service.keeper)
        var request = URLRequest(url)
        request.cachePolicy = cachePolicy
        let step = try RedirectStep(request, body: .none)
        try AllowListStation().check(step, under: policies.resolve(step.url.host))
    }

    @Test("HTTPS is allowed to every host, and plain HTTP only to hosts without a rule")
    func schemes() throws {
        for host in ["api.test", "evaluated.test", "other.test"] { try check("https://\(host)/") }
        try check("http://other.test/")
        for host in ["api.test", "evaluated.test"] {
            #expect(throws: ApproovError(.pinningError, "")) { try check("http://\(host)/") }
        }
    }

    @Test("If every host must be evaluated, a host without a rule is refused over HTTPS and HTTP")
    func allHosts() throws {
        for host in ["api.test", "evaluated.test"] { try check("https://\(host)/", allHosts: true) }
        let refusal = try #require(throws: TrustRefusal.self) { try check("https://other.test/", allHosts: true) }
        #expect(refusal.reason == .hostNotEvaluated)
        #expect(throws: ApproovError(.pinningError, "")) { try check("http://other.test/", allHosts: true) }
    }

    @Test("A cache-only request is refused, because the session has no cache")
    func cacheOnly() throws {
        #expect(throws: ApproovError(.unsupported, "")) { try check("https://api.test/", cachePolicy: .returnCacheDataDontLoad) }
    }
}
