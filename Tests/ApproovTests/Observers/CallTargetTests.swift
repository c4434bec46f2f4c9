import CertificatePinning
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct CallTargetTests {
    private func request(_ url: String = "https://api.test/shapes?a=1", _ method: HTTPRequest.Method = .get) throws -> TransportRequest {
        try TransportRequest(url: TransportURL(url), method: method, policy: TrustPolicy(rules: HostMap([]), defaultAnchors: .system()))
    }

    @Test("Equal requests in a row share one target")
    func sharing() throws {
        let targets = CallTargets(masks: try PathMasks())
        let first = targets.target(of: try request(), isAttested: true, isOblivious: false)
        #expect(targets.target(of: try request(), isAttested: true, isOblivious: false) === first)
    }

    @Test("A request with another URL, method, or way gets its own target")
    func differences() throws {
        let targets = CallTargets(masks: try PathMasks())
        let first = targets.target(of: try request(), isAttested: true, isOblivious: false)
        let variants = [
            (try request("https://api.test/shapes?b=1"), true, false), (try request("https://api.test:444/shapes?a=1"), true, false),
            (try request("http://api.test:443/shapes?a=1"), true, false), (try request("https://api2.test/shapes?a=1"), true, false),
            (try request("https://api.test/shapes/?a=1"), true, false), (try request("https://api.test/shapes?a=1", .post), true, false),
            (try request(), false, false), (try request(), true, true),
        ]
        let others = try variants.map { variant, isAttested, isOblivious in
            // The last target is kept, so that a variant shares it unless the part in which they differ is compared.
            _ = targets.target(of: try request(), isAttested: true, isOblivious: false)
            return targets.target(of: variant, isAttested: isAttested, isOblivious: isOblivious)
        }
        for other in others { #expect(other != first) }
        #expect(Set(others).count == others.count)
    }

    @Test("A target has neither masked segments nor the values of the query")
    func hiding() throws {
        let targets = CallTargets(masks: try PathMasks(["/reset/*"]))
        let target = targets.target(
            of: try request("https://api.test/reset/secret?code=secret&flag&id=&c2VjcmV0IQ==&c2VjcmV0LQo="), isAttested: false,
            isOblivious: false)
        #expect(target.path == "/reset/*" && target.queryNames == ["code", "*", "*", "*", "*"])
        #expect(target.scheme == "https" && target.host == "api.test" && target.port == 443 && target.method == "GET")
    }

    @Test("Equal targets that are not shared are equal, with one hash")
    func equality() throws {
        let one = CallTarget(try request(), masks: try PathMasks(), isAttested: true, isOblivious: false)
        let other = CallTarget(try request(), masks: try PathMasks(), isAttested: true, isOblivious: false)
        #expect(one == other && one !== other && one.hashValue == other.hashValue)
    }
}
