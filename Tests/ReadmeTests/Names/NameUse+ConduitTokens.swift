import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OAuth2
import Testing

/// Renews tokens without the authorization server, and notes which.
private struct OwnRefresh: RefreshStrategy {
    let renewed = Shared<[String]>([])

    func refresh(_ token: BearerToken, at endpoints: OAuth2Endpoints) async throws -> BearerToken {
        renewed.change { $0.append(token.accessToken) }
        return try NameUse.token("fresh")
    }
}

/// Translates for a token endpoint that takes JSON and answers with a form.
private struct OtherFormats: HTTPTransport {
    let server: any HTTPTransport

    private func fields(_ form: [UInt8]) -> [String: String] {
        let items = URLComponents(string: "?" + String(decoding: form, as: UTF8.self))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var translated = request
        if case .bytes(let form) = request.body { translated.body = .bytes(Array(try JSONEncoder().encode(fields(form)))) }
        translated.headerFields[.contentType] = "application/json"
        let response = try await server.send(translated)
        let json = try await JSONEncoder().encode(fields(response.body.collect(upTo: 65_536)))
        return TransportResponse(
            status: response.status, headerFields: [.contentType: "application/json"], url: response.url,
            body: ResponseBody(bytes: Array(json)))
    }
}

extension NameUse {
    static func oauth2Client(secret: String? = "s") throws -> OAuth2Client {
        let server = try OAuth2Server(
            tokenURL: url("https://login.test/token"), authorizationURL: url("https://login.test/authorize"), scope: "read")
        return try OAuth2Client(id: "app", secret: secret.map { ClientSecret($0) }, server: server)
    }

    /// Endpoints whose server issues the token "a".
    private static func endpoints() throws -> OAuth2Endpoints { try endpoints(issuing()) }

    static func endpoints(_ transport: InProcessTransport, clock: ManualClock = ManualClock()) throws -> OAuth2Endpoints {
        try OAuth2Endpoints(client: oauth2Client(), transport: transport, clock: clock)
    }

    /// A server that issues the token "a".
    static func issuing() -> InProcessTransport {
        InProcessTransport(
            status: 200, headerFields: [.contentType: "application/json"],
            body: Array(#"{"access_token":"a","token_type":"Bearer","expires_in":3600}"#.utf8))
    }

    /// The parameters of a request for a token.
    private static func form(of request: TransportRequest?) async throws -> [String: String] {
        let items = URLComponents(string: "?" + (try await text(of: request)))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { "\($0) and \($1)" }
    }

    /// A session without an account that has an interceptor, over the world's transport.
    private static func session(_ world: World, _ credentials: OAuth2Credentials) throws -> ApproovSession {
        try session(world) { $0.interceptors = [try OAuth2Interceptor(credentials, hosts: [HostPattern("api.test")])] }
    }

    static func key() throws -> TokenKey { TokenKey(client: try oauth2Client(), authorization: Authorization(level: .user)) }

    static func token(_ name: String = "a", refresh: String? = nil, isExpired: Bool = false) throws -> BearerToken {
        try BearerToken(
            accessToken: name, refreshToken: refresh, issuedAt: Date(timeIntervalSince1970: 1_740_000_000),
            expiresAt: Date(timeIntervalSince1970: isExpired ? 1_740_003_600 : 4_000_000_000))
    }

    static let conduitTokens: [NameUse] = [
        NameUse("OAuth2ServerEnvironment") { (_) async throws in
            let server = try OAuth2Server(tokenURL: url("https://login.test/own/token"), scope: "read write")
            let transport = issuing()
            let endpoints = try OAuth2Endpoints(client: OAuth2Client(id: "app", server: server), transport: transport)
            #expect(try await endpoints.issue(PasswordGrant(username: "alice", password: "p")).accessToken == "a")
            #expect(transport.requests.map(\.url.text) == ["https://login.test/own/token"])
            let form = try await form(of: transport.requests.first)
            #expect(form["scope"]?.replacing("+", with: " ") == "read write")
        },
        NameUse("OAuth2ClientConfiguration") { (_) async throws in
            let server = try oauth2Client().server
            let transport = issuing()
            for secret in [ClientSecret("s"), nil] {
                let client = try OAuth2Client(id: "app", secret: secret, server: server)
                _ = try await OAuth2Endpoints(client: client, transport: transport).issue(PasswordGrant(username: "alice", password: "p"))
            }
            #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Basic YXBwOnM=", nil])
            #expect(try await form(of: transport.requests.last)["client_id"] == "app")
        },
        NameUse("OAuth2Authorization") { (world) async throws in
            func header(_ authorization: Authorization) async throws -> String? {
                let credentials = try OAuth2Credentials(endpoints: endpoints(), authorization: authorization, store: MemoryTokenStore())
                _ = try await session(world, credentials).data(from: url)
                return world.apiRequests.last?.headerFields[.authorization]
            }
            #expect(try await header(Authorization(type: .basic, level: .client)) == "Basic YXBwOnM=")
            #expect(try await header(Authorization(type: .bearer, level: .client)) == "Bearer a")
            // A user must log in first, and nothing is sent before.
            let code = await codeThrown(as: ApproovError.self) { try await header(Authorization(level: .user)) }
            #expect(code == .credentialMissing && world.apiRequests.count == 2)
        },
        NameUse("OAuth2PasswordTokenGrantStrategy, issueToken") { (_) async throws in
            let endpoints: OAuth2Endpoints = try endpoints()
            #expect(try await endpoints.issue(PasswordGrant(username: "alice", password: "p")).accessToken == "a")
        },
        NameUse("OAuth2ClientCredentialsTokenGrantStrategy") { (_) async throws in
            #expect(try await endpoints().issue(ClientCredentialsGrant(scope: "read")).accessToken == "a")
        },
        NameUse("OAuth2AuthorizationCodeTokenGrantStrategy") { (_) async throws in
            let grant = AuthorizationCodeGrant(
                code: "c", redirectURI: url("http://127.0.0.1:7/callback"), verifier: String(repeating: "v", count: 43))
            #expect(try await endpoints().issue(grant).accessToken == "a")
        },
        NameUse("OAuth2RefreshTokenGrantStrategy") { (_) async throws in
            #expect(try await endpoints().issue(RefreshGrant(refreshToken: "r", scope: "read")).accessToken == "a")
        },
        NameUse("requestSerializer, responseDeserializer of a grant") { (_) async throws in
            let server = InProcessTransport(
                status: 200, headerFields: [.contentType: "application/x-www-form-urlencoded"],
                body: Array("access_token=a&token_type=bearer".utf8)
            )
            let endpoints = try OAuth2Endpoints(client: oauth2Client(), transport: OtherFormats(server: server))
            #expect(try await endpoints.issue(PasswordGrant(username: "alice", password: "p")).accessToken == "a")
            let sent = try await JSONDecoder().decode([String: String].self, from: Data(text(of: server.requests.first).utf8))
            #expect(sent == ["grant_type": "password", "username": "alice", "password": "p", "scope": "read"])
        },
        NameUse("OAuth2ExtensionTokenGrantStrategy") { (_) async throws in
            let grant = ExtensionGrant(type: "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters: [("assertion", "j")])
            #expect(try await endpoints().issue(grant).accessToken == "a")
        },
        NameUse("implicit grant (RFC 6749, section 4.2)") { (_) async throws in
            let request = try InsecureImplicitRequest(client: oauth2Client(), redirectURI: url("com.example.app:/callback"))
            let redirect = "com.example.app:/callback#access_token=a&token_type=Bearer&state=\(request.state)"
            #expect(try request.token(from: url(redirect)).accessToken == "a")
        },
        NameUse("OAuth2AuthorizationStrategy, OAuth2AuthorizationRequest") { (_) async throws in
            let redirect: LoopbackRedirect = try LoopbackRedirect()
            let request = try AuthorizationRequest(client: oauth2Client(), redirectURI: redirect.redirectURI)
            let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
            #expect(items.contains { $0.name == "code_challenge_method" && $0.value == "S256" })
            let state = try #require(items.first { $0.name == "state" }?.value)
            let waiting = Task { try await redirect.grant(for: request) }
            // As the user's browser does.
            let port = try #require(redirect.redirectURI.port)
            let browser = try RawClient(port: port)
            browser.write("GET /callback?code=c1&state=\(state) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            #expect(await browser.readToEnd().text.hasPrefix("HTTP/1.1 200"))
            #expect(try await waiting.value.parameters().contains { $0.name == "code" && $0.value == "c1" })
        },
        NameUse("OAuth2RequestPipelineMiddleware") { (world) async throws in
            let (transport, store) = (issuing(), MemoryTokenStore())
            let credentials = try OAuth2Credentials(
                endpoints: endpoints(transport, clock: world.clock), authorization: Authorization(level: .user), store: store)
            try await credentials.logIn(token("old", refresh: "r", isExpired: true))
            // The OAuth2Interceptor(_:hosts:) of this session is for api.test.
            let session = try session(world, credentials)
            for text in ["https://api.test/", "https://other.test/", "https://api.test/"] { _ = try await session.data(from: url(text)) }
            #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer a", nil, "Bearer a"])
            #expect(transport.requests.count == 1)
            let form = try await form(of: transport.requests.first)
            #expect(form["grant_type"] == "refresh_token" && form["refresh_token"] == "r")
            #expect(try await store.token(for: credentials.key)?.accessToken == "a")
        },
        NameUse("OAuth2RefreshStrategyFactory") { (world) async throws in
            let (transport, strategy) = (issuing(), OwnRefresh())
            // OAuth2Credentials call RefreshStrategy.refresh(_:at:) when a token has expired.
            let credentials = try OAuth2Credentials(
                endpoints: endpoints(transport, clock: world.clock), store: MemoryTokenStore(), refresh: strategy)
            try await credentials.logIn(token("old", isExpired: true))
            let session = try session(world, credentials)
            for _ in 1...2 { _ = try await session.data(from: url) }
            #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer fresh", "Bearer fresh"])
            #expect(strategy.renewed.value == ["old"] && transport.requests.isEmpty)
        },
    ]
}
