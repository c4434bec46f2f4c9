import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import OAuth2

// Acceptance list: S2.87, S2.95, S2.110
/// Copies of one client that differ in who is authorized.
@Suite(.timeLimit(.minutes(5))) struct OAuth2CopiesTests {
    /// An authorization server and an API in memory, and a copy of one client for a user and one for the app.
    private struct Setting {
        struct Server {
            /// The numbers of the tokens that were issued last: "a0" and so on to the user, "c0" and so on to the app.
            var (user, app) = (0, 0)
            /// The token requests, by grant.
            var grants: [String] = []
            /// What the API refuses.
            var refused: Set<String> = []
        }

        let server: Shared<Server>
        let transport: InProcessTransport
        let (user, app): (OAuth2Credentials, OAuth2Credentials)
        let (plain, users, apps): (APIClient, APIClient, APIClient)

        init() async throws {
            let server = Shared(Server())
            self.server = server
            transport = InProcessTransport { request in
                if request.url.host.name == "login.test" { return server.change { Self.answer(request, &$0) } }
                let seen = request.headerFields[.authorization] ?? "none"
                let isRefused = server.value.refused.contains(seen)
                return TransportResponse(status: isRefused ? 401 : 200, url: request.url, body: ResponseBody(bytes: Array(seen.utf8)))
            }
            let endpoints = try Samples.endpoints(clock: ManualClock(date: Date()), over: transport)
            let store = MemoryTokenStore()
            user = try OAuth2Credentials(endpoints: endpoints, authorization: Authorization(level: .user), store: store)
            app = try OAuth2Credentials(endpoints: endpoints, authorization: Authorization(level: .client), store: store)
            try await user.logIn(Samples.token("a0", at: endpoints.clock.date))
            plain = try APIClient(
                base: Samples.url("https://api.test"), session: try ApproovSession(service: nil, configuration: .over(transport)))
            let hosts = [try HostPattern("api.test")]
            var copies = [plain, plain]
            copies[0].interceptors = [try OAuth2Interceptor(user, hosts: hosts)]
            copies[1].interceptors = [try OAuth2Interceptor(app, hosts: hosts)]
            (users, apps) = (copies[0], copies[1])
        }

        private static func answer(_ request: TransportRequest, _ server: inout Server) -> TransportResponse {
            guard request.url.target == "/token" else { return TransportResponse(status: 200, url: request.url) }
            let grant = request.form["grant_type"] ?? ""
            server.grants.append(grant)
            if grant == "refresh_token" { server.user += 1 } else { server.app += 1 }
            let token = grant == "refresh_token" ? "a\(server.user)" : "c\(server.app)"
            return .json(#"{"access_token":"\#(token)","token_type":"Bearer","expires_in":600}"#, to: request)
        }

        /// The token that the API got with a request.
        func seen(_ client: APIClient) async throws -> String {
            String(decoding: try await client.resource("x").send(.get).data, as: UTF8.self)
        }

        /// The tokens that each copy's requests carried, in order.
        var sent: [String?] { transport.requests.filter { $0.url.host.name == "api.test" }.map { $0.headerFields[.authorization] } }
    }

    @Test("A copy for the user and one for the app each send their own token, and the client that they come from sends none")
    func own() async throws {
        let setting = try await Setting()
        #expect(setting.users.session === setting.apps.session)
        #expect(try await setting.seen(setting.users) == "Bearer a0")
        #expect(try await setting.seen(setting.apps) == "Bearer c1")
        #expect(try await setting.seen(setting.plain) == "none")
        #expect(try await setting.seen(setting.users) == "Bearer a0")
        #expect(setting.server.value.grants == ["client_credentials"])
    }

    @Test("A 401 for the token of one copy renews only that token")
    func renewal() async throws {
        let setting = try await Setting()
        for client in [setting.users, setting.apps] { _ = try await setting.seen(client) }
        setting.server.value.refused = ["Bearer a0"]
        #expect(try await setting.seen(setting.users) == "Bearer a1")
        #expect(try await setting.seen(setting.apps) == "Bearer c1")
        setting.server.value.refused.insert("Bearer c1")
        // The app's token came without a refresh token.
        #expect(try await setting.seen(setting.apps) == "Bearer c2")
        #expect(try await setting.seen(setting.users) == "Bearer a1")
        #expect(setting.server.value.grants == ["client_credentials", "refresh_token", "client_credentials"])
        #expect(
            setting.sent == [
                "Bearer a0", "Bearer c1", "Bearer a0", "Bearer a1", "Bearer c1", "Bearer c1", "Bearer c2", "Bearer a1",
            ])
    }

    @Test("A log-out of the user leaves the app its token")
    func logOut() async throws {
        let setting = try await Setting()
        for client in [setting.users, setting.apps] { _ = try await setting.seen(client) }
        try await setting.user.logOut()
        #expect(await codeThrown(as: ApproovError.self) { try await setting.seen(setting.users) } == .credentialMissing)
        #expect(try await setting.seen(setting.apps) == "Bearer c1")
        #expect(setting.sent == ["Bearer a0", "Bearer c1", "Bearer c1"])
    }
}
