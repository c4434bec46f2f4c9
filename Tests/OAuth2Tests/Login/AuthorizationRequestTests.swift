import ApproovTesting
import Foundation
import Testing

@testable import OAuth2

// Acceptance list: S2.102, S2.103
@Suite struct AuthorizationRequestTests {
    private let redirect = Samples.url("http://127.0.0.1:4000/callback")

    private func request(issuer: String? = nil, _ additional: [(name: String, value: String)] = []) throws -> AuthorizationRequest {
        try AuthorizationRequest(
            client: Samples.client(server: Samples.server(scope: "read", issuer: issuer)), redirectURI: redirect,
            additionalParameters: additional)
    }

    private func thrown(_ query: String, _ request: AuthorizationRequest) -> OAuth2Error.Code? {
        code(as: OAuth2Error.self) { try request.grant(from: request.response(inQuery: String(query.dropFirst()))) }
    }

    @Test("The page has a new state, and always PKCE with S256")
    func page() throws {
        let (first, second) = (try request([("prompt", "login &=")]), try request())
        let pairs = try #require(FormText.decode(first.url.query() ?? "", limit: 20))
        let values = Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
        #expect(values["response_type"] == "code" && values["client_id"] == "app" && values["redirect_uri"] == redirect.absoluteString)
        #expect(values["scope"] == "read" && values["state"] == first.state && values["code_challenge_method"] == "S256")
        #expect(values["code_challenge"] == AuthorizationRequest.challenge(for: first.verifier) && values["prompt"] == "login &=")
        #expect(first.state != second.state && first.verifier != second.verifier && first.verifier.utf8.count == 43)
        // RFC 7636, appendix B.
        #expect(
            AuthorizationRequest.challenge(for: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
                == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test(
        "Additional parameters cannot replace those of the request, and have a name",
        arguments: ["state", "code_challenge_method", "redirect_uri", "client_id", "x", ""])
    func additional(name: String) {
        #expect(code(as: OAuth2Error.self) { try request([("x", "1"), (name, "2")]) } == .configurationError)
    }

    @Test("A redirect URI with a fragment is refused", arguments: ["#", "#a", "?b=1#a"])
    func fragment(suffix: String) {
        #expect(
            code(as: OAuth2Error.self) {
                try AuthorizationRequest(client: Samples.client(), redirectURI: Samples.url(redirect.absoluteString + suffix))
            } == .configurationError)
    }

    @Test("A redirect with the state gives the grant")
    func accepted() async throws {
        let request = try request(issuer: "https://login.test")
        for issuer in ["", "&iss=https%3A%2F%2Flogin.test"] {
            let grant = try request.grant(from: Samples.url(redirect.absoluteString + "?code=c%2B1&state=\(request.state)\(issuer)"))
            let values = Dictionary(uniqueKeysWithValues: try await grant.parameters().map { ($0.name, $0.value) })
            #expect(values["code"] == "c+1" && values["code_verifier"] == request.verifier)
        }
    }

    @Test("A redirect with another state, another issuer, a repeated parameter or another address is refused")
    func refused() throws {
        let request = try request(issuer: "https://login.test")
        let state = "state=\(request.state)"
        for query in [
            "", "?code=c", "?code=c&state=", "?code=c&\(state)x", "?code=c&state=\(try self.request().state)", "?code=c&\(state)&\(state)",
            "?code=c&code=d&\(state)", "?\(state)", "?code=&\(state)", "?code=c%0A&\(state)", "?code=c&\(state)&iss=https://evil.test",
            "?code=c&\(state)&iss=https://login.test/", "?code=c&\(state)&error=access_denied", "?error=%22&\(state)", "?code=%zz&\(state)",
            "?code=c&\(state)&x=1&x=2", "?\(state)&code=c&" + (0..<40).map { "p\($0)=1" }.joined(separator: "&"),
        ] {
            #expect(thrown(query, request) == .redirectRefused, "\(query)")
        }
        for url in ["http://127.0.0.1:4001/callback", "http://127.0.0.1:4000/other", "https://127.0.0.1:4000/callback"] {
            #expect(code(as: OAuth2Error.self) { try request.grant(from: Samples.url("\(url)?code=c&\(state)")) } == .redirectRefused)
        }
    }

    @Test(
        "A redirect to the redirect URI is accepted as a browser writes it",
        arguments: [
            (
                "http://127.0.0.1:4000", "http://127.0.0.1:4000/",
                ["http://127.0.0.1:4000/a", "http://127.0.0.1/", "http://127.0.0.1:4001/"]
            ),
            ("HTTPS://App.Example:443/In", "https://app.example/In", ["https://app.example/in", "http://app.example/In"]),
            ("http://app.example:80?a=1", "http://app.example/?a=1", ["https://app.example/?a=1", "http://app.example/?A=1"]),
            ("http://[::1]:4000/in", "http://[0:0:0:0:0:0:0:1]:4000/in", ["http://[::2]:4000/in"]),
            ("app:/in", "app:/in", ["app:/In", "APP:/in", "app:///in"]),
        ])
    func rewritten(redirectURI: String, written: String, others: [String]) throws {
        let request = try AuthorizationRequest(client: Samples.client(), redirectURI: Samples.url(redirectURI))
        #expect(request.url.query()?.contains("redirect_uri=" + FormText.encode([("", redirectURI)]).dropFirst()) == true)
        func thrown(_ page: String) -> OAuth2Error.Code? {
            let url = page + (page.contains("?") ? "&" : "?") + "code=c&state=\(request.state)"
            return code(as: OAuth2Error.self) { try request.grant(from: Samples.url(url)) }
        }
        for page in [redirectURI, written] { #expect(thrown(page) == nil, "\(page)") }
        for page in others { #expect(thrown(page) == .redirectRefused, "\(page)") }
    }

    @Test(
        "The redirect URI's own query comes back with the response",
        arguments: [
            (
                "?tenant=1", ["tenant=1&", "session_state=x&tenant=1&", "%74enant=%31&"],
                ["", "tenant=2&", "tenant=1&tenant=2&", "tenant=1%00&"]
            ),
            ("?a=b+c&flag", ["a=b%20c&flag=&", "flag&a=b+c&"], ["a=b%2Bc&flag&", "a=b+c&"]), ("?", ["", "x=1&"], ["x=1&x=2&"]),
            ("?" + (0..<16).map { "p\($0)=1&" }.joined(), [(0..<16).map { "p\($0)=1&" }.joined()], [""]),
            ("?tenant=K", ["tenant=K&"], ["tenant=%E2%84%AA&"]),
        ])
    func ownQuery(suffix: String, accepted: [String], refused: [String]) throws {
        let request = try AuthorizationRequest(client: Samples.client(), redirectURI: Samples.url("\(redirect)\(suffix)"))
        func thrown(_ query: String) -> OAuth2Error.Code? {
            code(as: OAuth2Error.self) { try request.grant(from: Samples.url("\(redirect)?\(query)code=c&state=\(request.state)")) }
        }
        for query in accepted { #expect(thrown(query) == nil, "\(query)") }
        for query in refused { #expect(thrown(query) == .redirectRefused, "\(query)") }
    }

    @Test(
        "A redirect URI whose query responses could spoil is refused",
        arguments: ["a=1&a=2", "a=%FF", (0..<17).map { "p\($0)=1" }.joined(separator: "&")] + AuthorizationResponse.names.map { "\($0)=1" })
    func unusableQuery(query: String) {
        #expect(
            code(as: OAuth2Error.self) {
                try AuthorizationRequest(client: Samples.client(), redirectURI: Samples.url("\(redirect)?\(query)"))
            } == .configurationError)
    }

    @Test("A redirect without the issuer is refused if the server always sends it")
    func missingIssuer() throws {
        let server = try Samples.server(issuer: "https://login.test", alwaysSendsIssuer: true)
        let request = try AuthorizationRequest(client: Samples.client(server: server), redirectURI: redirect)
        #expect(thrown("?code=c&state=\(request.state)", request) == .redirectRefused)
        #expect(thrown("?error=access_denied&state=\(request.state)", request) == .redirectRefused)
        #expect(thrown("?code=c&state=\(request.state)&iss=https://login.test", request) == nil)
        #expect(code(as: OAuth2Error.self) { try Samples.server(alwaysSendsIssuer: true) } == .configurationError)
    }

    @Test("The server's error counts only with the state, and its description appears nowhere")
    func errors() throws {
        let request = try request()
        #expect(thrown("?error=access_denied", request) == .redirectRefused)
        do {
            _ = try request.grant(
                from: Samples.url(redirect.absoluteString + "?error=access_denied&error_description=PRIVATE&state=\(request.state)"))
            Issue.record("no error")
        } catch let error as OAuth2Error {
            #expect(error.code == .authorizationRefused && error.serverError == .accessDenied && !error.description.contains("PRIVATE"))
        }
    }
}
