import APIClient
import Approov
import CertificatePinning
import Foundation
import FoundationNetworking
import Logging
import OAuth2
import Tracing

/// (m) What APIClient and the stations that an app may switch on cost beside a bare ApproovSession: one small attested GET, as in the
/// group transport.
struct ClientBenchmark {
    static let everything = "APIClient, everything on"
    static let peer = "ApproovSession"
    /// The peer, with a request that carries the header fields of `everything`.
    static let sameFields = "ApproovSession, same fields"

    let options: Options

    func run() async throws -> [Figure] {
        guard let server = options.server, let base = URL(string: server + "/") else {
            throw BenchmarkError("the client group needs --server and --roots; Scripts/benchmark brings both")
        }
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let app = try ProtectedApp(backend)
        defer { app.remove() }
        let request = try ProtectedApp.request(server + "/five")
        let session = ApproovSessionClient(session: app.session, request: request)
        var plain = try APIClient(base: base, session: app.session)
        plain.headers = ["Authorization": ProtectedApp.authorization]
        let all = try await Station.session(Station.allCases, app)
        let clients: [(String, any LoadClient)] = [
            (Self.peer, session), (Self.sameFields, ApproovSessionClient(session: app.session, request: Self.withAllFields(request))),
            ("APIClient", try ResourceClient(plain)),
            (Self.everything, try ResourceClient(Self.withRules(APIClient(base: base, session: all)))),
        ]
        var figures: [Figure] = []
        for atOnce in [1, 16, 64] {
            figures += try await compare(clients, "\(atOnce) at once", atOnce: atOnce)
        }
        let bare = URLRequest(url: base.appending(path: "five"))
        var stations: [(String, any LoadClient)] = []
        for station in Station.allCases {
            let session = try await Station.session([station], app)
            stations.append((station.rawValue, ApproovSessionClient(session: session, request: station == .oauth2 ? bare : request)))
        }
        let rules = ("rules of APIClient", try ResourceClient(Self.withRules(plain)) as any LoadClient)
        for atOnce in [1, 64] {
            figures += try await compare([clients[0]] + stations + [rules], "one station on, \(atOnce) at once", atOnce: atOnce)
        }
        return figures
    }

    private func compare(_ clients: [(name: String, client: any LoadClient)], _ scenario: String, atOnce: Int) async throws -> [Figure] {
        let seconds = options.seconds
        return try await Comparison(group: "client", scenario: scenario, unit: .perSecond, peers: [Self.peer]).run(
            clients.map { name, client in Subject(name) { try await client.rate(atOnce: atOnce, seconds: seconds) } }, options: options)
    }

    /// The request, with the fields that the stations and the rules of `everything` add to it.
    private static func withAllFields(_ request: URLRequest) -> URLRequest {
        var request = request
        request.setValue(Station.userKey, forHTTPHeaderField: "X-User")
        request.setValue("benchmark", forHTTPHeaderField: "X-Request-Kind")
        request.setValue("benchmark", forHTTPHeaderField: "X-Client")
        request.setValue(SilentTracer.traceparent, forHTTPHeaderField: "traceparent")
        return request
    }

    /// Two rules that match the request, and one that does not.
    private static func withRules(_ client: APIClient) throws -> APIClient {
        try client.configured { rules in
            try rules.configure("**", description: "every resource") { $0.headers["X-Client"] = "benchmark" }
            try rules.configure("f*", description: "some resources") { $0.timeout = .seconds(30) }
            try rules.configure("reports/**", description: "other resources") { $0.timeout = .seconds(300) }
        }
    }
}

/// A station that an app may switch on.
private enum Station: String, CaseIterable {
    case credential
    case gate
    case allowList = "allow-list"
    case perRequestHeaders = "per-request headers"
    case retryPolicy = "retry policy"
    case validators = "three validators"
    case oauth2 = "OAuth 2"
    case observer
    case consoleLog = "console log"
    case metrics
    case tracer

    static let userKey = "0123456789abcdef"

    /// A session that attests, with these stations.
    static func session(_ stations: [Station], _ app: ProtectedApp) async throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = "Authorization"
        for station in stations { try await station.turnOn(in: &configuration) }
        return try ApproovSession(service: app.service, configuration: configuration)
    }

    private func turnOn(in configuration: inout ApproovSessionConfiguration) async throws {
        let hosts = [try HostPattern("localhost")]
        switch self {
        case .credential:
            configuration.credential = .header("X-User", try CredentialHolder(Self.userKey), for: hosts)
        case .gate: configuration.gate = RequestGate()
        case .allowList: configuration.allowedHosts = AllowedHosts(hosts)
        case .perRequestHeaders: configuration.perRequestHeaders = PerRequestHeaders { _ in ["X-Request-Kind": "benchmark"] }
        case .retryPolicy: configuration.interceptors.append(RetryPolicy())
        case .validators:
            configuration.validators = [StatusValidator(), MediaTypeValidator(["text/plain"]), HeaderValidator(success: "X-Success")]
        case .oauth2: configuration.interceptors.append(try await Self.loggedIn(hosts))
        case .observer: configuration.observers.append(SilentObserver())
        case .consoleLog: configuration.observers.append(ConsoleLog(logger: Logger(label: "benchmark") { _ in SilentLog() }))
        case .metrics: configuration.metrics = ClientMetrics()
        case .tracer: configuration.tracer = SilentTracer()
        }
    }

    /// An interceptor with a token that outlives the benchmark, so that no authorization server is asked.
    private static func loggedIn(_ hosts: [HostPattern]) async throws -> OAuth2Interceptor {
        guard let url = URL(string: "https://localhost/token") else { throw BenchmarkError("the token endpoint is not a URL") }
        let client = try OAuth2Client(id: "benchmark", server: OAuth2Server(tokenURL: url))
        let credentials = try OAuth2Credentials(endpoints: OAuth2Endpoints(client: client), store: MemoryTokenStore())
        try await credentials.logIn(BearerToken(accessToken: "0123456789abcdef", expiresAt: Date(timeIntervalSinceNow: 86_400)))
        return try OAuth2Interceptor(credentials, hosts: hosts)
    }
}

/// A resource of a client, with a GET that checks its status.
private struct ResourceClient: LoadClient {
    private let resource: Resource

    init(_ client: APIClient) throws { resource = try client.resource("five") }

    func get() async throws {
        let response = try await resource.send(.get)
        try expectFiveBytes(status: response.head.statusCode, count: response.data.count, from: "APIClient")
    }
}

/// An observer that does nothing, so that only the observing is measured.
private struct SilentObserver: SessionObserver {}

/// Drops every line, so that only the making of its metadata is measured.
private struct SilentLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {}
}
