import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@testable import OAuth2

/// An authorization server and an API over TLS.
///
/// It rotates refresh tokens, and ends the log-in when one is used twice.
final class RotatingServer: Sendable {
    struct State {
        /// The number of the refresh token that is valid now.
        var current = 0
        var refreshes = 0
        var isRevoked = false
        var answers = 0
        var revocations: [String] = []
        /// The access token that the API accepts beside those of `current`; nil for every one that was issued.
        var onlyCurrent = false
        var clientTokens = 0
        /// The life of new tokens, in seconds.
        var life = 3_600
    }

    let state = Shared(State())
    let root: TestCertificate
    private let server: TestHTTPServer

    var url: String { server.url }

    init() async throws {
        let root = try TestPKI.root()
        self.root = root
        let state = state
        server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost", "127.0.0.1"], issuer: root)) { request in
            let form = FormText.decode(String(decoding: try await request.body.collect(), as: UTF8.self), limit: 32) ?? []
            return Self.answer(request, Dictionary(form.map { ($0.name, $0.value) }) { $1 }, state)
        }
    }

    func stop() async { await server.stop() }

    private static func answer(_ request: TestRequest, _ form: [String: String], _ state: Shared<State>) -> TestResponse {
        state.change { state in
            func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> TestResponse {
                TestResponse(status, headerFields: [.contentType: "application/json"], text: text)
            }
            switch (request.path, form["grant_type"]) {
            case ("/token", "refresh_token"):
                guard !state.isRevoked, form["refresh_token"] == "r\(state.current)" else {
                    state.isRevoked = true
                    return json(#"{"error":"invalid_grant"}"#, .badRequest)
                }
                state.current += 1
                state.refreshes += 1
                return json(
                    #"{"access_token":"a\#(state.current)","token_type":"Bearer","expires_in":\#(state.life),"refresh_token":"r\#(state.current)"}"#
                )
            case ("/token", "client_credentials"):
                state.clientTokens += 1
                return json(#"{"access_token":"c\#(state.clientTokens)","token_type":"Bearer","expires_in":\#(state.life)}"#)
            case ("/revoke", _):
                state.revocations.append(form["token"] ?? "")
                return TestResponse()
            case ("/api", _):
                let token = (request.headerFields[.authorization] ?? "").dropFirst("Bearer ".count)
                let number = Int(token.dropFirst())
                let isKnown = token.first == "c" ? number == state.clientTokens : number.map { (0...state.current).contains($0) } ?? false
                guard !state.isRevoked, isKnown, !state.onlyCurrent || token == "a\(state.current)" || token.first == "c" else {
                    return TestResponse(.unauthorized, headerFields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
                }
                state.answers += 1
                return TestResponse(text: String(token))
            default: return TestResponse(.notFound)
            }
        }
    }

    /// The client as this server knows it.
    func client() throws -> OAuth2Client {
        try OAuth2Client(
            id: "app", secret: ClientSecret("s"),
            server: OAuth2Server(tokenURL: Samples.url("\(url)/token"), revocationURL: Samples.url("\(url)/revoke")))
    }

    func trustManager() throws -> ApproovTrustManager { ApproovTrustManager(anchors: try TrustAnchors(pem: root.pem)) }

    func credentials(
        _ store: any TokenStore, level: Authorization.Level = .user, clock: any TimeSource = SystemTimeSource()
    ) throws -> OAuth2Credentials {
        try OAuth2Credentials(
            endpoints: OAuth2Endpoints(client: client(), trustManager: trustManager(), clock: clock),
            authorization: Authorization(level: level), store: store)
    }

    func session(_ credentials: OAuth2Credentials) throws -> ApproovSession {
        try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: nil, trustManager: trustManager(),
            interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("localhost")])])
    }

    var api: URL { Samples.url("\(url)/api") }
}
