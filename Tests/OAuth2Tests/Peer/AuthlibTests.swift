import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import TestTags
import Testing

@testable import OAuth2

// Acceptance list: S2.24, S2.26, S2.78, S2.89, S2.90, S2.91, S2.92, S2.93, S2.96, S2.104
@Suite(
    "Authorization server of another library", .tags(.sockets, .processes, .slow),
    .enabled(AuthlibServer.whatIsMissing, AuthlibServer.isPossible))
struct AuthlibTests {
    private static let password = PasswordGrant(username: "älice", password: "p&=+ w%", scope: "read")

    /// The status of the API's answer to a token.
    private func status(_ server: AuthlibServer, _ token: BearerToken) async throws -> Int {
        let credentials = try OAuth2Credentials(endpoints: server.endpoints(), store: MemoryTokenStore())
        try await credentials.logIn(token)
        let session = try ApproovSession(
            service: nil, trustManager: server.trustManager,
            interceptors: [OAuth2Interceptor(credentials, hosts: [HostPattern("localhost")])])
        return try await session.data(from: Samples.url("\(server.url)/api")).1.statusCode
    }

    private func error(_ body: () async throws -> BearerToken) async -> OAuth2Error? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? OAuth2Error
        }
    }

    @Test("The server takes the client's authentication in each form, and its API takes the token")
    func authentication() async throws {
        let server = try await AuthlibServer()
        for client in [
            try server.client(scope: "read"), try server.client("body", .body, scope: "read"),
            try server.client("public", secret: nil, scope: "read"),
        ] {
            let token = try await server.endpoints(client).issue(PasswordGrant(username: "älice", password: "p&=+ w%"))
            #expect(token.scope == "read" && token.refreshToken != nil)
            #expect(try await status(server, token) == 200)
        }
        let own = try await server.endpoints(server.client(scope: "write")).issue(ClientCredentialsGrant())
        #expect(own.refreshToken == nil && own.scope == "write")
        #expect(try await status(server, own) == 200)
    }

    @Test("The code grant with PKCE works over the loopback redirect, and a code works once and with its verifier only")
    func code() async throws {
        let server = try await AuthlibServer()
        let client = try server.client("public", secret: nil, scope: "read")
        let endpoints = try server.endpoints(client)
        let redirect = try LoopbackRedirect()
        let request = try AuthorizationRequest(client: client, redirectURI: redirect.redirectURI)
        let waiting = Task { try await redirect.grant(for: request) }
        let target = try await server.open(request.url)
        let browser = try RawClient(port: try #require(target.port))
        browser.write("GET \(target.path)?\(target.query() ?? "") HTTP/1.1\r\nHost: 127.0.0.1:\(target.port ?? 0)\r\n\r\n")
        try #require(await browser.readToEnd().text.hasPrefix("HTTP/1.1 200"))
        let grant = try await waiting.value
        let token = try await endpoints.issue(grant)
        #expect(try await status(server, token) == 200)
        #expect(await error { try await endpoints.issue(grant) }?.serverError == .invalidGrant)

        let (first, second) = (
            try AuthorizationRequest(client: client, redirectURI: redirect.redirectURI),
            try AuthorizationRequest(client: client, redirectURI: redirect.redirectURI)
        )
        let stolen = try #require(
            FormText.decode(try await server.open(first.url).query() ?? "", limit: 9)?.first { $0.name == "code" }?.value)
        let wrong = AuthorizationCodeGrant(code: stolen, redirectURI: redirect.redirectURI, verifier: second.verifier)
        #expect(await error { try await endpoints.issue(wrong) }?.serverError == .invalidGrant)
    }

    @Test("A user's refusal reaches the app, and a redirect of another issuer does not")
    func refusal() async throws {
        let server = try await AuthlibServer()
        let client = try server.client("public", secret: nil, scope: "read")
        let uri = Samples.url("http://127.0.0.1:4711/callback")
        let request = try AuthorizationRequest(client: client, redirectURI: uri, additionalParameters: [("prompt", "refuse")])
        let target = try await server.open(request.url)
        do {
            _ = try request.grant(from: target)
            Issue.record("no error")
        } catch let error as OAuth2Error {
            #expect(error.code == .authorizationRefused && error.serverError == .accessDenied)
        }
        let elsewhere = Samples.url(target.absoluteString.replacing("issuer.test", with: "evil.test"))
        #expect(ApproovTesting.code(as: OAuth2Error.self) { try request.grant(from: elsewhere) } == .redirectRefused)
    }

    @Test("The implicit grant gives a token without a refresh token, and reports a refusal and a scope that the server does not know")
    func implicit() async throws {
        let server = try await AuthlibServer()
        let client = try server.client("public", secret: nil, scope: "read")
        let uri = Samples.url("com.example.app:/callback")
        let request = try InsecureImplicitRequest(client: client, redirectURI: uri)
        let target = try await server.open(request.url)
        #expect(target.fragment?.contains("access_token=") == true)
        let token = try request.token(from: target)
        #expect(token.refreshToken == nil && token.scope == "read" && !token.isExpired(at: Date() + 3_000))
        #expect(token.isExpired(at: Date() + 3_600))
        #expect(try await status(server, token) == 200)
        let elsewhere = Samples.url(target.absoluteString.replacing("issuer.test", with: "evil.test"))
        #expect(elsewhere != target)
        #expect(ApproovTesting.code(as: OAuth2Error.self) { try request.token(from: elsewhere) } == .redirectRefused)

        for (scope, additional, expected) in [
            ("read", [(name: "prompt", value: "refuse")], OAuth2ServerError.accessDenied), ("root", [], .invalidScope),
        ] {
            let request = try InsecureImplicitRequest(client: client, redirectURI: uri, scope: scope, additionalParameters: additional)
            let target = try await server.open(request.url)
            let error = await error { try request.token(from: target) }
            #expect(error?.code == .authorizationRefused && error?.serverError == expected)
        }
    }

    @Test("Refreshing rotates the refresh token, and a refresh token used twice ends the log-in")
    func rotation() async throws {
        let server = try await AuthlibServer()
        let endpoints = try server.endpoints()
        let first = try await endpoints.issue(Self.password)
        let second = try await endpoints.refresh(first)
        #expect(second.accessToken != first.accessToken && second.refreshToken != first.refreshToken && second.scope == "read")
        let third = try await endpoints.refresh(second)
        #expect(try await status(server, third) == 200)
        #expect(await error { try await endpoints.refresh(first) }?.serverError == .invalidGrant)
        #expect(await error { try await endpoints.refresh(third) }?.serverError == .invalidGrant)
    }

    @Test("Credentials renew themselves with rotation: a hundred requests, one refresh at the server, and the API takes the new token")
    func credentials() async throws {
        let server = try await AuthlibServer()
        let clock = ManualClock(date: Date())
        let store = MemoryTokenStore()
        let credentials = try OAuth2Credentials(endpoints: server.endpoints(clock: clock), store: store)
        try await credentials.logIn(credentials.endpoints.issue(Self.password))
        for round in 1...3 {
            clock.advance(by: .seconds(3_600))
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await credentials.token().accessToken } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            #expect(try await server.refreshCount == round)
        }
        #expect(try await status(server, credentials.token()) == 200)
        try await credentials.logOut()
        #expect(await error { try await credentials.token() }?.code == .loginRequired)
    }

    @Test("A revoked token does not refresh any more")
    func revocation() async throws {
        let server = try await AuthlibServer()
        let endpoints = try server.endpoints()
        let token = try await endpoints.issue(Self.password)
        try await endpoints.revoke(token)
        #expect(await error { try await endpoints.refresh(token) }?.serverError == .invalidGrant)
    }

    @Test("An extension grant with a JWT assertion works, and one with a wrong subject is refused")
    func assertion() async throws {
        let server = try await AuthlibServer()
        let endpoints = try server.endpoints()
        let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        let token = try await endpoints.issue(ExtensionGrant(type: type) { [("assertion", server.assertion())] })
        #expect(try await status(server, token) == 200)
        let wrong = ExtensionGrant(type: type, parameters: [("assertion", server.assertion(subject: "mallory"))])
        #expect(await error { try await endpoints.issue(wrong) }?.serverError == .invalidGrant)
    }

    @Test(
        "The device grant waits for the user, and reports a refusal and an expired code",
        arguments: [("pending,slow,pending,yes", OAuth2Error.Code?.none), ("pending,no", .authorizationRefused), ("late", .timedOut)])
    func device(answers: String, expected: OAuth2Error.Code?) async throws {
        let server = try await AuthlibServer()
        let clock = ManualClock(date: Date())
        let endpoints = try server.endpoints(server.client("public", secret: nil, scope: "read"), clock: clock)
        _ = try await server.send("/answers/\(answers)", method: "POST")
        let authorization = try await endpoints.authorizeDevice()
        #expect(authorization.userCode.count == 9 && authorization.interval == .seconds(5))
        let isDone = Shared(false)
        let task = Task {
            defer { isDone.value = true }
            return try await endpoints.token(for: authorization)
        }
        while !isDone.value {
            // The timers of a request under way run longer than the interval: 5 s, and 5 more after "slow_down".
            guard await eventually({ isDone.value || clock.nextWakeUp.map { $0 <= .seconds(10) } == true }) else {
                Issue.record("the client does not ask again within 10 seconds")
                task.cancel()
                break
            }
            if let next = clock.nextWakeUp, next <= .seconds(10) { clock.advance(by: next) }
        }
        if let expected {
            #expect(await error { try await task.value }?.code == expected)
        } else {
            #expect(try await status(server, task.value) == 200)
        }
    }

    @Test("Every error of RFC 6749, section 5.2, arrives with its name")
    func errors() async throws {
        let server = try await AuthlibServer()
        let endpoints = try server.endpoints()
        func name(_ endpoints: OAuth2Endpoints, _ grant: any TokenGrant) async -> OAuth2ServerError? {
            await error { try await endpoints.issue(grant) }?.serverError
        }
        #expect(await name(endpoints, RefreshGrant(refreshToken: "unknown")) == .invalidGrant)
        #expect(await name(endpoints, PasswordGrant(username: "älice", password: "p&=+ w%", scope: "root")) == .invalidScope)
        #expect(await name(endpoints, ExtensionGrant(type: "urn:unknown")) == .unsupportedGrantType)
        #expect(await name(endpoints, PasswordGrant(username: "älice", password: "wrong")) == .invalidRequest)
        #expect(await name(try server.endpoints(server.client(secret: "wrong")), ClientCredentialsGrant()) == .invalidClient)
        #expect(await name(try server.endpoints(server.client("poor")), ClientCredentialsGrant()) == .unauthorizedClient)
    }
}
