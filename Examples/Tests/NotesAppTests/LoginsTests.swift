import Foundation
import Testing

@testable import NotesServer

@Suite struct LoginsTests {
    private let redirect = "http://127.0.0.1:50000/callback"
    private let verifier = "a-verifier-that-only-the-app-knows-0123456789"
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func code(_ logins: inout Logins) -> String {
        logins.makeCode(for: "alice", redirectURI: redirect, challenge: Secret.challenge(for: verifier), at: now)
    }

    @Test("A code is worth tokens only with its verifier and its redirect URI, and within a minute")
    func codes() throws {
        var logins = Logins()
        let code = code(&logins)
        #expect(logins.redeem(code, verifier: "another", redirectURI: redirect, at: now) == nil)
        #expect(logins.redeem(code, verifier: verifier, redirectURI: "http://127.0.0.1:1/callback", at: now) == nil)
        #expect(logins.redeem(code, verifier: verifier, redirectURI: redirect, at: now + 60) == nil)
        let tokens = try #require(logins.redeem(code, verifier: verifier, redirectURI: redirect, at: now + 59))
        #expect(logins.user(ofAccessToken: tokens.access, at: now) == "alice")
    }

    @Test("A code that comes twice ends the log-in that it gave")
    func stolenCode() throws {
        var logins = Logins()
        let code = code(&logins)
        let tokens = try #require(logins.redeem(code, verifier: verifier, redirectURI: redirect, at: now))
        #expect(logins.redeem(code, verifier: verifier, redirectURI: redirect, at: now) == nil)
        #expect(logins.user(ofAccessToken: tokens.access, at: now) == nil)
        #expect(logins.refresh(tokens.refresh, at: now) == nil)
    }

    @Test("A refresh token works once, and ends the log-in when it comes again")
    func stolenRefreshToken() throws {
        var logins = Logins()
        let first = try #require(logins.redeem(code(&logins), verifier: verifier, redirectURI: redirect, at: now))
        let second = try #require(logins.refresh(first.refresh, at: now))
        #expect(logins.user(ofAccessToken: first.access, at: now) == nil)
        #expect(logins.user(ofAccessToken: second.access, at: now) == "alice")
        #expect(logins.refresh(first.refresh, at: now) == nil)
        #expect(logins.user(ofAccessToken: second.access, at: now) == nil)
        #expect(logins.refresh(second.refresh, at: now) == nil)
    }

    @Test("An access token ends after five minutes, and with its log-in")
    func ends() throws {
        var logins = Logins()
        let tokens = try #require(logins.redeem(code(&logins), verifier: verifier, redirectURI: redirect, at: now))
        #expect(logins.user(ofAccessToken: tokens.access, at: now + 300) == nil)
        logins.revoke("\(tokens.access.prefix(43)).guess")
        #expect(logins.user(ofAccessToken: tokens.access, at: now) == "alice")
        logins.revoke(tokens.refresh)
        #expect(logins.user(ofAccessToken: tokens.access, at: now) == nil)
    }

    @Test(
        "A log-in that another page could have started is refused",
        arguments: [
            ("client_id", "another"), ("response_type", "token"), ("code_challenge_method", "plain"), ("code_challenge", "short"),
            ("state", "\"><script>"), ("redirect_uri", "http://127.0.0.1:50000.evil.example/callback"),
            ("redirect_uri", "https://evil.example/callback"), ("redirect_uri", "http://127.0.0.1:50000/callback?next=x"),
        ])
    func requests(name: String, value: String) {
        var parameters = [
            "client_id": "notes-app", "response_type": "code", "code_challenge_method": "S256", "redirect_uri": redirect, "state": "s",
            "code_challenge": Secret.challenge(for: verifier),
        ]
        #expect(LoginRequest { parameters[$0] } != nil)
        parameters[name] = value
        #expect(LoginRequest { parameters[$0] } == nil)
        parameters[name] = nil
        #expect(LoginRequest { parameters[$0] } == nil)
    }
}
