import Approov
import ApproovBase
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OAuth2
import Testing

// Acceptance list: S2.104
@Suite struct OAuth2EndpointsTests {
    private static let good = #"{"access_token":"a1","token_type":"bearer","expires_in":600,"refresh_token":"r1","scope":"read"}"#

    private func issue(
        _ answer: @escaping @Sendable (TransportRequest) -> TransportResponse, _ grant: some TokenGrant = ClientCredentialsGrant(),
        client: OAuth2Client? = nil
    ) async throws -> (token: BearerToken, request: TransportRequest) {
        let transport = InProcessTransport { answer($0) }
        let token = try await Samples.endpoints(client: client, over: transport).issue(grant)
        return (token, try #require(transport.requests.first))
    }

    private func error(_ status: Int, _ body: String, type: String = "application/json") async -> OAuth2Error? {
        do {
            _ = try await issue { request in
                TransportResponse(
                    status: status, headerFields: [.contentType: type], url: request.url, body: ResponseBody(bytes: Array(body.utf8)))
            }
            return nil
        } catch {
            return error as? OAuth2Error
        }
    }

    @Test("A grant is sent as a form with Basic authentication, and its answer becomes a token")
    func basic() async throws {
        let (token, request) = try await issue { .json(Self.good, to: $0) }
        #expect(token.accessToken == "a1" && token.refreshToken == "r1" && token.scope == "read")
        #expect(token.expiresAt.timeIntervalSince(token.issuedAt) == 600)
        #expect(request.method == .post && request.url.text == "https://login.test/token")
        #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.headerFields[.authorization] == "Basic YXBwOnMzY3JldA==")
        #expect(request.headerFields[.cookie] == nil)
        #expect(request.form == ["grant_type": "client_credentials"])
    }

    @Test("A client without a secret, and one that authenticates in the body, send their identifier there")
    func body() async throws {
        let answer: @Sendable (TransportRequest) -> TransportResponse = { .json(Self.good, to: $0) }
        let open = try await issue(answer, client: Samples.client(secret: nil)).request
        #expect(open.form["client_id"] == "app" && open.form["client_secret"] == nil && open.headerFields[.authorization] == nil)
        let inBody = try await issue(answer, client: Samples.client(authentication: .body)).request
        #expect(inBody.form["client_secret"] == "s3cret" && inBody.headerFields[.authorization] == nil)
    }

    @Test("The server's scope goes with grants that take one, and a grant's own scope replaces it")
    func scopes() async throws {
        let client = try Samples.client(server: Samples.server(scope: "read write"))
        let answer: @Sendable (TransportRequest) -> TransportResponse = { .json(#"{"access_token":"a","token_type":"Bearer"}"#, to: $0) }
        let first = try await issue(answer, client: client)
        #expect(first.request.form["scope"] == "read write" && first.token.scope == "read write")
        #expect(try await issue(answer, ClientCredentialsGrant(scope: "read"), client: client).request.form["scope"] == "read")
        let code = AuthorizationCodeGrant(code: "c", redirectURI: Samples.url("http://127.0.0.1:1/cb"), verifier: "v")
        let request = try await issue(answer, code, client: client).request
        #expect(
            request.form == [
                "grant_type": "authorization_code", "code": "c", "redirect_uri": "http://127.0.0.1:1/cb", "code_verifier": "v",
            ])
        let refresh = try await issue(answer, RefreshGrant(refreshToken: "r"), client: client).request
        #expect(refresh.form == ["grant_type": "refresh_token", "refresh_token": "r"])
        let password = try await issue(answer, PasswordGrant(username: "u", password: "p&="), client: client).request
        #expect(password.form == ["grant_type": "password", "username": "u", "password": "p&=", "scope": "read write"])
    }

    @Test(
        "A grant that sets the client's parameters, or one twice, is refused before anything is sent",
        arguments: ["client_id", "client_secret", "grant_type"])
    func parameters(name: String) async throws {
        let transport = InProcessTransport(status: 200)
        let endpoints = try Samples.endpoints(over: transport)
        let thrown = await codeThrown(as: OAuth2Error.self) {
            try await endpoints.issue(ExtensionGrant(type: "urn:x", parameters: [(name, "x")]))
        }
        #expect(thrown == .configurationError && transport.requests.isEmpty)
    }

    @Test(
        "Every error of RFC 6749, section 5.2, has its name, and its description and URI appear nowhere",
        arguments: [
            OAuth2ServerError.invalidRequest, .invalidClient, .invalidGrant, .unauthorizedClient, .unsupportedGrantType, .invalidScope,
        ])
    func refused(name: OAuth2ServerError) async throws {
        for status in [400, 401, 403] {
            let body = #"{"error":"\#(name.rawValue)","error_description":"PRIVATE words","error_uri":"https://PRIVATE.test"}"#
            let error = try #require(await error(status, body))
            #expect(error.code == .requestRefused && error.serverError == name && error.status == status)
            #expect(!error.description.contains("PRIVATE"))
        }
    }

    @Test(
        "Errors without a usable name are malformed",
        arguments: [
            "", "{}", #"{"error":7}"#, #"{"error":"a\nb"}"#, #"{"error":"two words"}"#, #"{"error":""}"#, "[]", "not JSON",
            #"{"error":"invalid_grant","error":"invalid_client"}"#,
        ])
    func malformedErrors(body: String) async throws {
        let error = try #require(await error(400, body))
        #expect(error.code == .responseMalformed && error.serverError == nil)
    }

    @Test("An overloaded or failing server is no refusal, whatever its body says", arguments: [429, 500, 503])
    func overload(status: Int) async throws {
        let error = try #require(await error(status, #"{"error":"invalid_grant"}"#))
        #expect(error.code == .networkingError && error.serverError == nil)
    }

    @Test("A redirect is not followed", arguments: [301, 302, 307, 308])
    func redirect(status: Int) async throws {
        let transport = InProcessTransport { request in
            TransportResponse(status: status, headerFields: [.location: "https://other.test/token"], url: request.url)
        }
        let endpoints = try Samples.endpoints(over: transport)
        #expect(await codeThrown(as: OAuth2Error.self) { try await endpoints.issue(ClientCredentialsGrant()) } == .responseMalformed)
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Answers that RFC 6749, section 5.1, does not allow are refused, and no value of them is in the error",
        arguments: [
            "", "[]", "null", "{}", #"{"access_token":"SECRET"}"#, #"{"token_type":"Bearer"}"#,
            #"{"access_token":"SECRET","token_type":"mac"}"#,
            #"{"access_token":"SECRET","token_type":7}"#, #"{"access_token":"SEC RET","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET\u000d\u000aX: y","token_type":"Bearer"}"#, #"{"access_token":"SECRET\u007f","token_type":"Bearer"}"#,
            #"{"access_token":7,"token_type":"Bearer"}"#, #"{"access_token":"","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","refresh_token":"a\u0007"}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","refresh_token":7}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","scope":"a\"b"}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":-1}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":0}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":1.5}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":3600.0}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":"3600"}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":1e99}"#,
            #"{"access_token":"SECRET","token_type":"Bearer","expires_in":99999999999999999999}"#,
            #"{"access_token":"SECRET","access_token":"b","token_type":"Bearer"}"#,
            #"{"access_token":"SECRET","token_type":"Bearer"} x"#, #"access_token=SECRET&token_type=Bearer"#,
        ])
    func malformed(body: String) async throws {
        let error = try #require(await error(200, body))
        #expect(error.code == .responseMalformed)
        #expect(!error.description.contains("SEC"))
    }

    @Test("A renewal whose answer lacks the token's type keeps the new refresh token", arguments: ["", #","token_type":null"#])
    func renewalWithoutType(member: String) async throws {
        let answer: @Sendable (TransportRequest) -> TransportResponse = {
            .json(#"{"access_token":"a1","refresh_token":"r1"\#(member)}"#, to: $0)
        }
        let token = try await issue(answer, RefreshGrant(refreshToken: "r0")).token
        #expect(token.accessToken == "a1" && token.refreshToken == "r1")
    }

    @Test("A renewal whose answer has another type of token is refused", arguments: [#""mac""#, #""bearer ""#, "7"])
    func renewalOfAnotherType(type: String) async throws {
        let transport = InProcessTransport { .json(#"{"access_token":"a1","token_type":\#(type)}"#, to: $0) }
        let endpoints = try Samples.endpoints(over: transport)
        #expect(
            await codeThrown(as: OAuth2Error.self) { try await endpoints.issue(RefreshGrant(refreshToken: "r0")) } == .responseMalformed)
    }

    @Test("An answer that is nested 10,000 levels deep is refused, and no value of it is in the error", arguments: ["[", "{\"a\":"])
    func deepJSON(opening: String) async throws {
        let closing = opening == "[" ? "]" : "}"
        let open = String(repeating: opening, count: 10_000)
        let deep = open + "1" + String(repeating: closing, count: 10_000)
        for body in [deep, open, #"{"access_token":"SECRET","token_type":"Bearer","extra":\#(deep)}"#] {
            let error = try #require(await error(200, body))
            #expect(error.code == .responseMalformed && error.cause is JSONError)
            #expect(!error.description.contains("SECRET") && error.description.contains("nested deeper"))
        }
        // Nor is such an answer taken for the server's refusal, which would end the log-in.
        let refusal = try #require(await error(400, #"{"error":"invalid_grant","extra":\#(deep)}"#))
        #expect(refusal.code == .responseMalformed && refusal.serverError == nil)
    }

    @Test("A success that is not application/json is refused", arguments: ["text/html", "text/plain", "application/x-www-form-urlencoded"])
    func mediaType(type: String) async { #expect(await error(200, Self.good, type: type)?.code == .responseMalformed) }

    @Test(
        "A life that is absent is an hour, and one that is huge is a year",
        arguments: [
            ("", 3_600.0), (#","expires_in":null"#, 3_600), (#","expires_in":9223372036854775807"#, 31_536_000), (#","expires_in":1"#, 1),
        ])
    func lifetime(member: String, life: TimeInterval) async throws {
        let token = try await issue { .json(#"{"access_token":"a","token_type":"BEARER"\#(member)}"#, to: $0) }.token
        #expect(token.expiresAt.timeIntervalSince(token.issuedAt) == life)
    }

    @Test("An answer of more than 64 KiB is refused")
    func large() async {
        let body = #"{"access_token":"a","token_type":"Bearer","x":"\#(String(repeating: "x", count: 65_536))"}"#
        #expect(await error(200, body)?.code == .responseMalformed)
    }

    @Test("A server that cannot be reached gives a networking error with its cause")
    func unreachable() async throws {
        let endpoints = try Samples.endpoints(over: InProcessTransport { _ in throw TransportError(.connectionFailed, "no route") })
        do {
            _ = try await endpoints.issue(ClientCredentialsGrant())
            Issue.record("no error")
        } catch let error as OAuth2Error {
            #expect(error.code == .networkingError && error.cause is ApproovError)
        }
    }

    @Test("Revoking sends the refresh token with its hint, and accepts an empty answer")
    func revoke() async throws {
        let transport = InProcessTransport(status: 200)
        try await Samples.endpoints(over: transport).revoke(Samples.token("a", refresh: "r"))
        let request = try #require(transport.requests.first)
        #expect(request.url.text == "https://login.test/revoke")
        #expect(request.form == ["token": "r", "token_type_hint": "refresh_token"])
    }
}
