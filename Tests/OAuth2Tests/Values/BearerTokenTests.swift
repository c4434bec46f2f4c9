import ApproovTesting
import Foundation
import Testing

@testable import OAuth2

@Suite struct BearerTokenTests {
    private let now = Date(timeIntervalSince1970: 1_750_000_000)

    @Test(
        "A token counts as expired in the last minute of its life, or in its last tenth if that is shorter",
        arguments: [(3_600.0, 3_540.0), (300, 270), (10, 9), (0, 0)])
    func expiry(life: TimeInterval, end: TimeInterval) throws {
        let token = try Samples.token(life: life, at: now)
        #expect(token.isExpired(at: now + end))
        #expect(end == 0 || !token.isExpired(at: now + end - 0.01))
    }

    @Test(
        "Tokens with spaces, control characters or more than 16 KiB are refused",
        arguments: ["", "a b", "a\r\nX: y", "ä", String(repeating: "a", count: 16_385)])
    func characters(text: String) {
        #expect(code(as: OAuth2Error.self) { try BearerToken(accessToken: text, expiresAt: now) } == .responseMalformed)
    }

    @Test("Dates that no store can keep, because they are infinite or no number, are refused")
    func infiniteDates() {
        for seconds in [.infinity, -.infinity, .nan] as [TimeInterval] {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(code(as: OAuth2Error.self) { try BearerToken(accessToken: "a", expiresAt: date) } == .responseMalformed)
            #expect(code(as: OAuth2Error.self) { try BearerToken(accessToken: "a", issuedAt: date, expiresAt: now) } == .responseMalformed)
        }
    }

    @Test("A token equals the one that a store gives back, whatever fractions of a second its dates have")
    func stored() throws {
        for _ in 0..<200 {
            let (issued, life) = (now + .random(in: -1e8...1e8), Double.random(in: 0...1e5))
            let token = try BearerToken(accessToken: "a", issuedAt: issued, expiresAt: issued + life)
            #expect(TokenRecord.token(in: TokenRecord.bytes(of: token)) == token)
        }
    }

    @Test("A successor keeps the refresh token, the scope and the log-in where the server sent none")
    func succeeding() throws {
        let first = try BearerToken(accessToken: "a", refreshToken: "r", issuedAt: now, expiresAt: now, scope: "read")
        let second = try BearerToken(accessToken: "b", issuedAt: now, expiresAt: now + 60).succeeding(first)
        #expect(second.accessToken == "b" && second.refreshToken == "r" && second.scope == "read" && second.loginID == first.loginID)
        let third = try BearerToken(accessToken: "c", refreshToken: "r2", expiresAt: now, scope: "write").succeeding(second)
        #expect(third.refreshToken == "r2" && third.scope == "write")
        #expect(try BearerToken(accessToken: "a", expiresAt: now).loginID != first.loginID)
    }
}
