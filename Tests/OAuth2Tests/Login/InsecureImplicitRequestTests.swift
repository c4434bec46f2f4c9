import ApproovTesting
import Foundation
import Testing

@testable import OAuth2

// Acceptance list: S2.24
@Suite struct InsecureImplicitRequestTests {
    private let redirect = Samples.url("com.example.app:/callback?tenant=1")
    private let clock = ManualClock()

    private func request(
        issuer: String? = nil, alwaysSendsIssuer: Bool = false, redirectURI: URL? = nil,
        _ additional: [(name: String, value: String)] = []
    ) throws -> InsecureImplicitRequest {
        try InsecureImplicitRequest(
            client: Samples.client(
                server: Samples.server(scope: "read", issuer: issuer, alwaysSendsIssuer: alwaysSendsIssuer)),
            redirectURI: redirectURI ?? redirect, additionalParameters: additional)
    }

    private func token(_ fragment: String, query: String = "", _ request: InsecureImplicitRequest) throws -> BearerToken {
        try request.token(from: Samples.url("\(redirect.absoluteString)\(query)#\(fragment)&state=\(request.state)"), clock: clock)
    }

    private func thrown(_ fragment: String, query: String = "", _ request: InsecureImplicitRequest) -> OAuth2Error.Code? {
        code(as: OAuth2Error.self) { try token(fragment, query: query, request) }
    }

    @Test("The page asks for a token with a new state, and sends no secret")
    func page() throws {
        let (first, second) = (try request([("prompt", "login")]), try request())
        let pairs = try #require(FormText.decode(first.url.query() ?? "", limit: 20))
        let values = Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
        #expect(
            values == [
                "response_type": "token", "client_id": "app", "redirect_uri": redirect.absoluteString, "state": first.state,
                "scope": "read", "prompt": "login",
            ])
        #expect(first.state != second.state)
        #expect("\(first)" == "InsecureImplicitRequest(login.test)" && Mirror(reflecting: first).children.isEmpty)
    }

    @Test(
        "Additional parameters cannot replace those of the request, and have a name",
        arguments: ["response_type", "client_id", "redirect_uri", "state", "scope", "x", ""])
    func additional(name: String) {
        #expect(code(as: OAuth2Error.self) { try request([("x", "1"), (name, "2")]) } == .configurationError)
    }

    @Test("A redirect URI with a fragment or a response's query, a malformed scope and a server without a page are refused")
    func configuration() throws {
        for suffix in ["#", "#a", "&tenant=2", "&n=%FF", (0..<16).map { "&p\($0)=1" }.joined()]
            + AuthorizationResponse.names.map({ "&\($0)=a" })
        {
            #expect(
                code(as: OAuth2Error.self) {
                    try InsecureImplicitRequest(client: Samples.client(), redirectURI: Samples.url(redirect.absoluteString + suffix))
                } == .configurationError, "\(suffix)")
        }
        #expect(
            code(as: OAuth2Error.self) { try InsecureImplicitRequest(client: Samples.client(), redirectURI: redirect, scope: "\"") }
                == .configurationError)
        let server = try OAuth2Server(tokenURL: Samples.url("https://login.test/token"))
        #expect(
            code(as: OAuth2Error.self) { try InsecureImplicitRequest(client: Samples.client(server: server), redirectURI: redirect) }
                == .configurationError)
    }

    @Test("A redirect with the state gives the token, without a refresh token")
    func accepted() throws {
        let request = try request()
        let short = try token("access_token=a%2Bb&token_type=bearer&expires_in=600&scope=a+b&refresh_token=r", request)
        #expect(short.accessToken == "a+b" && short.refreshToken == nil && short.scope == "a b")
        #expect(short.expiresAt.timeIntervalSince(clock.date) == 600)
        let plain = try token("access_token=a&token_type=Bearer", request)
        #expect(plain.scope == "read" && plain.expiresAt.timeIntervalSince(clock.date) == 3_600)
    }

    @Test(
        "A token that cannot be used is refused",
        arguments: [
            "token_type=Bearer", "access_token=CANARY", "access_token=CANARY&token_type=mac", "access_token=CANARY%20x&token_type=Bearer",
            "access_token=CANARY&token_type=Bearer&expires_in=CANARY", "access_token=CANARY&token_type=CANARY",
            "access_token=&token_type=Bearer",
            "access_token=a%0D%0Ab&token_type=Bearer", "access_token=a%00&token_type=Bearer",
            "access_token=a&token_type=Bearer&expires_in=0",
            "access_token=a&token_type=Bearer&expires_in=-1", "access_token=a&token_type=Bearer&expires_in=",
            "access_token=a&token_type=Bearer&expires_in=1e3", "access_token=a&token_type=Bearer&expires_in=%D9%A3",
            "access_token=a&token_type=Bearer&expires_in=99999999999999999999", "access_token=a&access_token=b&token_type=Bearer",
            "access_token=a&token_type=Bearer&scope=%22", "access_token=%FF&token_type=Bearer",
            "access_token=a&token_type=Bearer&x=1&x=2", "", "access_token=\(String(repeating: "a", count: 16_385))&token_type=Bearer",
            "access_token=a&token_type=Bearer&" + (0..<40).map { "p\($0)=1" }.joined(separator: "&"),
        ])
    func unusable(fragment: String) throws {
        let request = try request()
        do {
            _ = try token(fragment, request)
            Issue.record("the redirect gave a token")
        } catch let error as OAuth2Error {
            var dumped = ""
            dump(error, to: &dumped)
            #expect(error.code == .redirectRefused && error.status == nil && error.cause == nil)
            #expect(!"\(error)\(dumped)".contains("CANARY") && !"\(error)\(dumped)".contains(request.state))
        }
    }

    @Test("A redirect of another page, with another state, or with the token in its query is refused")
    func refused() throws {
        let request = try request()
        let token = "access_token=SECRETTOKEN&token_type=Bearer"
        for url in [
            "\(redirect)#\(token)", "\(redirect)#\(token)&state=", "\(redirect)#\(token)&state=\(request.state)x",
            "\(redirect)#\(token)&state=\(try self.request().state)", "\(redirect)#\(token)&state=\(request.state)&state=\(request.state)",
            "\(redirect)&\(token)&state=\(request.state)", "\(redirect)&state=\(request.state)#\(token)",
            "\(redirect)&\(token)#state=\(request.state)",
            "\(redirect)&error=access_denied#\(token)&state=\(request.state)", "\(redirect)&state=other#\(token)&state=\(request.state)",
            "\(redirect)&access_token=b#\(token)&state=\(request.state)", "com.example.app:/callback#\(token)&state=\(request.state)",
            "com.example.app:/callback?tenant=2#\(token)&state=\(request.state)",
            "COM.EXAMPLE.APP:/callback?tenant=1#\(token)&state=\(request.state)",
            "com.example.app:/other?tenant=1#\(token)&state=\(request.state)",
            "com.example.evil:/callback?tenant=1#\(token)&state=\(request.state)",
        ] {
            do {
                _ = try request.token(from: Samples.url(url), clock: clock)
                Issue.record("\(url) gave a token")
            } catch let error as OAuth2Error {
                #expect(error.code == .redirectRefused && !"\(error)".contains("SECRETTOKEN"), "\(url)")
            }
        }
    }

    @Test(
        "The redirect URI's own query comes back in any order, and without parameters of a response", arguments: AuthorizationResponse.names
    )
    func ownQuery(name: String) throws {
        let uri = Samples.url("com.example.app:/callback?a=1&b=2")
        let request = try request(issuer: "https://login.test/K", redirectURI: uri)
        func thrown(_ query: String, _ fragment: String = "") -> OAuth2Error.Code? {
            let fragment = "access_token=a&token_type=Bearer&state=\(request.state)\(fragment)"
            return code(as: OAuth2Error.self) {
                try request.token(from: Samples.url("com.example.app:/callback?\(query)#\(fragment)"), clock: clock)
            }
        }
        #expect(thrown("b=2&z=3&a=1") == nil && thrown("a=1&b=3") == .redirectRefused && thrown("b=2") == .redirectRefused)
        #expect(thrown("a=1&b=2&\(name)=https://login.test/K") == (name == "iss" ? nil : .redirectRefused))
        // KELVIN SIGN, which Unicode equates with K.
        #expect(thrown("a=1&b=2", "&iss=https://login.test/%E2%84%AA") == .redirectRefused)
    }

    @Test("The issuer is checked, whether the server names it in the fragment or in the query")
    func issuer() throws {
        let token = "access_token=a&token_type=Bearer"
        let (right, wrong) = ("iss=https%3A%2F%2Flogin.test", "iss=https://evil.test")
        let request = try request(issuer: "https://login.test")
        #expect(
            thrown(token, request) == nil && thrown("\(token)&\(right)", request) == nil
                && thrown(token, query: "&\(right)", request) == nil)
        #expect(thrown("\(token)&\(wrong)", request) == .redirectRefused && thrown(token, query: "&\(wrong)", request) == .redirectRefused)
        #expect(thrown("\(token)&\(right)", query: "&\(wrong)", request) == .redirectRefused)
        #expect(thrown("error=access_denied", query: "&\(wrong)", request) == .redirectRefused)
        // Twice is once too often, even if both are right.
        #expect(thrown("\(token)&\(right)", query: "&\(right)", request) == .redirectRefused)
        // What cannot be read hides no issuer.
        let many = (0..<40).map { "&p\($0)=1" }.joined()
        let plain = try self.request(issuer: "https://login.test", redirectURI: Samples.url("com.example.app:/callback"))
        func plainThrown(_ query: String) -> OAuth2Error.Code? {
            code(as: OAuth2Error.self) {
                try plain.token(from: Samples.url("com.example.app:/callback?\(query)#\(token)&state=\(plain.state)"), clock: clock)
            }
        }
        #expect(plainThrown(right) == nil && plainThrown("session_state=x&\(right)") == nil && plainThrown("") == nil)
        for query in ["x=%FF&\(wrong)", "\(wrong)&x=%FF", "iss=%FF", "\(many)&\(wrong)", "x=%FF&\(right)", "\(right)&\(right)"] {
            #expect(plainThrown(query) == .redirectRefused, "\(query)")
        }
        let strict = try self.request(issuer: "https://login.test", alwaysSendsIssuer: true)
        #expect(thrown(token, strict) == .redirectRefused && thrown(token, query: "&\(right)", strict) == nil)
    }

    @Test("The server's error reaches the app only with the state and without a token")
    func errors() throws {
        let request = try request()
        #expect(thrown("error=access_denied", request) == .authorizationRefused)
        #expect(thrown("error=access_denied&access_token=a&token_type=Bearer", request) == .redirectRefused)
        #expect(thrown("error=%22", request) == .redirectRefused)
        #expect(
            code(as: OAuth2Error.self) { try request.token(from: Samples.url("\(redirect)#error=access_denied"), clock: clock) }
                == .redirectRefused)
    }
}
