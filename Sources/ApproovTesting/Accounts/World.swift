package import Approov
package import Attestation
import CertificatePinning
package import Foundation
package import FoundationNetworking
package import HTTPClient
import HTTPTypes
package import Logging

/// An account, its authority, an API and a service, all in one process and on a clock that stands still.
package final class World: Sendable {
    package let account: TestAccount
    package let authority = SmallAuthority()
    package let gateway: SmallGateway
    package let clock = ManualClock()
    package let attester: ScriptedAttester
    package let store: MemoryStore
    /// What APIs answer; by default 200 with the path as body.
    package let api = Shared<@Sendable (TransportRequest) async throws -> TransportResponse>({ request in
        TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(request.url.target.utf8)))
    })
    package let transport: InProcessTransport
    package let service: ApproovService

    package init(
        account: TestAccount? = nil, hosts: [String: HostSettings] = ["api.test": .pinned], store: MemoryStore = MemoryStore(),
        attester: ScriptedAttester = ScriptedAttester(), certificates: [String: TestCertificate] = [:],
        limits: ApproovServiceLimits = ApproovServiceLimits(), chunked: Bool? = nil,
        stateDirectory: URL = FileManager.default.temporaryDirectory, logger: Logger = .silent
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
            stateDirectory: stateDirectory, attester: attester, store: store, transport: transport, clock: clock,
            limits: limits, logger: logger)
    }

    /// Worlds in which no token can be obtained and waiting would not help, each with what a request fails with.
    ///
    /// An attester that fails, an authority that refuses the evidence, an app that is rejected.
    package static func withoutTokens() throws -> [(code: ApproovError.Code, world: World)] {
        let broken = try World(attester: ScriptedAttester { _ in throw CocoaError(.fileNoSuchFile) })
        let foreign = try World()
        foreign.authority.script.value.fault = { request in
            request.url.target == "/v1/attestations" ? .problem(.wrongAccount, 403, to: request) : nil
        }
        let rejected = try World()
        rejected.authority.script.value.rejectionReasons = ["debugger"]
        return [(.permanentError, broken), (.permanentError, foreign), (.rejectionError, rejected)]
    }

    /// The requests that reached an API directly.
    package var apiRequests: [TransportRequest] {
        transport.requests.filter { !["authority.test", "relay.test"].contains($0.url.host.name) }
    }

    /// The requests that reached the relay.
    package var relayRequests: [TransportRequest] { transport.requests.filter { $0.url.host.name == "relay.test" } }

    package func session(
        configuration: URLSessionConfiguration = .ephemeral, interceptors: [any RequestInterceptor] = [], bindHeader: String? = nil,
        unboundRequests: UnboundRequests = .refused, trustManager: ApproovTrustManager? = nil, maximumRedirects: Int = 20,
        sendsWithoutTokenWhenAuthorityIsDown: Bool = false, prefetchToken: Bool = false, obliviousRoute: ObliviousRoute? = nil
    ) throws -> ApproovSession {
        var settings = ApproovSessionConfiguration()
        settings.interceptors = interceptors
        settings.bindHeader = bindHeader
        settings.unboundRequests = unboundRequests
        settings.sendsWithoutTokenWhenAuthorityIsDown = sendsWithoutTokenWhenAuthorityIsDown
        settings.prefetchToken = prefetchToken
        settings.obliviousRoute = obliviousRoute
        settings.maximumRedirects = maximumRedirects
        return try ApproovSession(
            wrapping: URLSession(configuration: configuration), service: service,
            trustManager: trustManager ?? ApproovTrustManager(anchors: .of(account.root), logger: .silent), configuration: settings)
    }
}

extension ApproovSessionConfiguration {
    /// The settings of a session that sends its requests over a test's transport.
    package static func over(_ transport: any HTTPTransport, obliviousRoute: ObliviousRoute? = nil) -> Self {
        var configuration = Self()
        configuration.transport = transport
        configuration.obliviousRoute = obliviousRoute
        return configuration
    }
}

extension URLRequest {
    /// Makes a request in one line.
    package init(_ text: String, method: String = "GET", _ headers: [String: String] = [:], body: String? = nil) {
        self.init(url: URL(string: text) ?? URL(filePath: "/"))
        httpMethod = method
        allHTTPHeaderFields = headers
        httpBody = body.map { Data($0.utf8) }
    }
}
