import ApproovTesting
import Foundation
import Testing

@testable import NotesServer

@Suite struct LoginsTests {
    private let redirect = "http://127.0.0.1:50000/callback"
    private let verifier = "a-verifier-that-only-the-app-knows-0123456789"
    private let clock = ManualClock()
    private let logins: LoginStore

    init() {
        let clock = clock
        logins = LoginStore(passwords: ["alice": "wonderland"], now: { clock.date })
    }

    private func code() throws -> String {
        try #require(
            logins.logIn("alice", password: "wonderland", redirectURI: redirect, challenge: Secret.challenge(for: verifier)))
    }

    private func redeem(_ code: String) -> Logins.Tokens? { logins.redeem(code, verifier: verifier, redirectURI: redirect) }

    @Test("A code is worth tokens only with its verifier and its redirect URI")
    func codes() throws {
        let code = try code()
        #expect(logins.redeem(code, verifier: "another", redirectURI: redirect) == nil)
        #expect(logins.redeem(code, verifier: verifier, redirectURI: "http://127.0.0.1:1/callback") == nil)
        let tokens = try #require(redeem(code))
        #expect(logins.user(ofAccessToken: tokens.access) == "alice")
    }

    @Test("A code is worth nothing after a minute")
    func lateCode() throws {
        let code = try code()
        clock.advance(by: .seconds(60))
        #expect(redeem(code) == nil)
    }

    @Test("A code that comes twice ends the log-in that it gave")
    func stolenCode() throws {
        let code = try code()
        let tokens = try #require(redeem(code))
        #expect(redeem(code) == nil)
        #expect(logins.user(ofAccessToken: tokens.access) == nil)
        #expect(logins.refresh(tokens.refresh) == nil)
    }

    @Test("A refresh token works once, and ends the log-in when it comes again")
    func stolenRefreshToken() throws {
        let first = try #require(redeem(try code()))
        let second = try #require(logins.refresh(first.refresh))
        #expect(logins.user(ofAccessToken: first.access) == nil)
        #expect(logins.user(ofAccessToken: second.access) == "alice")
        #expect(logins.refresh(first.refresh) == nil)
        #expect(logins.user(ofAccessToken: second.access) == nil)
        #expect(logins.refresh(second.refresh) == nil)
    }

    @Test("An access token ends after five minutes, and with its log-in")
    func ends() throws {
        let first = try #require(redeem(try code()))
        logins.revoke("\(first.access.prefix(43)).guess")
        #expect(logins.user(ofAccessToken: first.access) == "alice")
        clock.advance(by: .seconds(300))
        #expect(logins.user(ofAccessToken: first.access) == nil)
        let second = try #require(logins.refresh(first.refresh))
        logins.revoke(second.refresh)
        #expect(logins.user(ofAccessToken: second.access) == nil)
    }

    @Test("A user has ten log-ins at most; the oldest ends")
    func bound() throws {
        let first = try #require(redeem(try code()))
        for _ in 0..<10 {
            clock.advance(by: .seconds(1))
            #expect(redeem(try code()) != nil)
        }
        #expect(logins.user(ofAccessToken: first.access) == nil)
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
