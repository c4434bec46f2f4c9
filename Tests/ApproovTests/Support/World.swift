import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Logging

/// An account, its authority, an API and a service, all in one process and on a clock that stands still.
final class World: Sendable {
    let account: TestAccount
    let authority = SmallAuthority()
    let gateway: SmallGateway
    let clock = ManualClock()
    let attester: ScriptedAttester
    let store: MemoryStore
    /// What APIs answer; by default 200 with the path as body.
    let api = Shared<@Sendable (TransportRequest) async throws -> TransportResponse>({ request in
        TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.target.utf8)))
    })
    let transport: InProcessTransport
    let service: ApproovService

    init(
        account: TestAccount? = nil, hosts: [String: HostSettings] = ["api.test": .pinned], store: MemoryStore = MemoryStore(),
        attester: ScriptedAttester = ScriptedAttester(), certificates: [String: TestCertificate] = [:],
        limits: ApproovServiceLimits = ApproovServiceLimits(), chunked: Bool? = nil
    ) throws {
        let account = try account ?? TestAccount()
        self.account = account
        self.store = store
        self.attester = attester
        let authority = authority
        let api = api
        let gateway = try SmallGateway()
        gateway.script.change { $0.knowsChunks = chunked == true }
        self.gateway = gateway
        var oblivious = gateway.settings
        oblivious.chunked = chunked
        transport = InProcessTransport(certificates: certificates) { request in
            switch request.url.host.name {
            case "authority.test": try await authority.respond(to: request)
            case "relay.test": try await gateway.respond(to: request)
            default: try await api.value(request)
            }
        }
        service = try ApproovService(
            configuration: try ApproovConfiguration(try account.initial(account.configuration(hosts: hosts, oblivious: oblivious))),
            stateDirectory: FileManager.default.temporaryDirectory, attester: attester, store: store, transport: transport, clock: clock,
            limits: limits, logger: .quiet)
    }

    /// Worlds in which no token can be obtained and waiting would not help, each with what a request fails with.
    ///
    /// An attester that fails, an authority that refuses the evidence, an app that is rejected.
    static func withoutTokens() throws -> [(code: ApproovError.Code, world: World)] {
        let broken = try World(attester: ScriptedAttester { _ in throw CocoaError(.fileNoSuchFile) })
        let foreign = try World()
        foreign.authority.script.value.fault = { request in
            request.url.target == "/v1/attestations" ? .problem(.wrongAccount, 403, to: request) : nil
        }
        let rejected = try World()
        rejected.authority.script.value.rejectionReasons = ["debugger"]
        return [(.permanentError, broken), (.permanentError, foreign), (.rejectionError, rejected)]
    }

    /// The requests that reached an API direct.
    var apiRequests: [TransportRequest] { transport.requests.filter { !["authority.test", "relay.test"].contains($0.url.host.name) } }

    /// The requests that reached the relay.
    var relayRequests: [TransportRequest] { transport.requests.filter { $0.url.host.name == "relay.test" } }

    func session(
        configuration: URLSessionConfiguration = .ephemeral, interceptors: [any RequestInterceptor] = [], bindHeader: String? = nil,
        unboundRequests: UnboundRequests = .refused, trustManager: ApproovTrustManager? = nil, maximumRedirects: Int = 20,
        sendsWithoutTokenWhenAuthorityIsDown: Bool = false, prefetchToken: Bool = false, obliviousRoute: ObliviousRoute? = nil
    ) throws -> ApproovSession {
        try ApproovSession(
            wrapping: URLSession(configuration: configuration), service: service,
            trustManager: trustManager ?? ApproovTrustManager(anchors: .of(account.root), logger: .quiet), interceptors: interceptors,
            bindHeader: bindHeader, unboundRequests: unboundRequests,
            sendsWithoutTokenWhenAuthorityIsDown: sendsWithoutTokenWhenAuthorityIsDown, prefetchToken: prefetchToken,
            obliviousRoute: obliviousRoute, maximumRedirects: maximumRedirects)
    }
}

extension Logger {
    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension HTTPField.Name {
    static let approovToken = HTTPField.Name("Approov-Token") ?? .authorization
    static let approovTraceID = HTTPField.Name("Approov-TraceID") ?? .authorization
}

extension URLRequest {
    init(_ text: String, method: String = "GET", _ headers: [String: String] = [:], body: String? = nil) {
        self.init(url: URL(string: text) ?? URL(filePath: "/"))
        httpMethod = method
        allHTTPHeaderFields = headers
        httpBody = body.map { Data($0.utf8) }
    }
}

/// Waits until a condition holds: a minute at least, so that a machine that is busy does not decide.
func eventually(_ condition: @Sendable () async -> Bool) async -> Bool {
    for _ in 0..<60_000 {
        if await condition() { return true }
        try? await Task.sleep(for: .milliseconds(1))
    }
    return false
}
