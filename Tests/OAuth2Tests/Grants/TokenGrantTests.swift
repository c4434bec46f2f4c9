import ApproovTesting
import Foundation
import HTTPClient
import Testing

@testable import OAuth2

// Acceptance list: S2.88, S2.119
@Suite struct TokenGrantTests {
    /// Every grant that the module brings, with further parameters.
    private static let grants: [@Sendable ([(name: String, value: String)]) -> any TokenGrant] = [
        { ClientCredentialsGrant(additionalParameters: $0) },
        { PasswordGrant(username: "u", password: "p", additionalParameters: $0) },
        { AuthorizationCodeGrant(code: "c", redirectURI: Samples.url("http://127.0.0.1:1/cb"), verifier: "v", additionalParameters: $0) },
        { RefreshGrant(refreshToken: "r", additionalParameters: $0) },
        { more in
            var grant = DeviceCodeGrant(
                DeviceAuthorization(
                    deviceCode: "d", userCode: "u", verificationURI: Samples.url("https://login.test/go"), verificationURIComplete: nil,
                    lifetime: .seconds(60), interval: .seconds(5), deadline: .seconds(60)))
            grant.additionalParameters = more
            return grant
        },
    ]

    private static func transport() -> InProcessTransport {
        InProcessTransport { .json(#"{"access_token":"a","token_type":"Bearer"}"#, to: $0) }
    }

    @Test("Every grant takes additional parameters, which are sent after its own", arguments: grants.indices)
    func additional(index: Int) async throws {
        let transport = Self.transport()
        let plain = try await Self.grants[index]([]).parameters()
        _ = try await Samples.endpoints(over: transport).issue(
            Self.grants[index]([("audience", "a&b=c\r\n"), ("resource", "https://r.test")]))
        let form = try #require(transport.requests.first?.form)
        #expect(form["audience"] == "a&b=c\r\n" && form["resource"] == "https://r.test" && form.count == plain.count + 2)
        for (name, value) in plain { #expect(form[name] == value) }
    }

    @Test(
        "Additional parameters replace nothing that the grant, the client or the scope says, and nothing is sent", arguments: grants.indices
    )
    func refused(index: Int) async throws {
        let transport = Self.transport()
        let endpoints = try Samples.endpoints(over: transport)
        let own = try await Self.grants[index]([]).parameters().map(\.name)
        for name in own + ["client_id", "client_secret", "grant_type", "scope", ""] {
            let thrown = await codeThrown(as: OAuth2Error.self) { try await endpoints.issue(Self.grants[index]([(name, "SECRET")])) }
            #expect(thrown == .configurationError, "\(name)")
        }
        let twice = await codeThrown(as: OAuth2Error.self) {
            try await endpoints.issue(Self.grants[index]([("resource", "1"), ("resource", "2")]))
        }
        #expect(twice == .configurationError && transport.requests.isEmpty)
    }

    @Test("A renewal sends the additional parameters of its strategy")
    func renewal() async throws {
        let transport = Self.transport()
        let clock = ManualClock(date: Date())
        let credentials = try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: transport), store: MemoryTokenStore(),
            refresh: RefreshTokenStrategy(additionalParameters: [("resource", "https://r.test")]))
        try await credentials.logIn(Samples.token(life: -1, at: clock.date))
        #expect(try await credentials.token().accessToken == "a")
        #expect(
            transport.requests.map(\.form) == [["grant_type": "refresh_token", "refresh_token": "r0", "resource": "https://r.test"]])
    }
}
