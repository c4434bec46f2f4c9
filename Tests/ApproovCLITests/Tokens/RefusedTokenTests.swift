import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Foundation
import Testing

@testable import ApproovCLI

@Suite struct RefusedTokenTests {
    private func cause(exp: Int64) throws -> String? {
        let folder = try TemporaryFolder()
        let store = try AuthorityStore(directory: folder.file("data"), access: .making)
        let claims = Data("{\"exp\":\(exp)}".utf8).base64EncodedString().replacing("=", with: "")
        return RefusedToken(token: "e30.\(claims).c2ln", error: TokenError(.expired, "the token has expired")).cause(in: store)
    }

    @Test("The cause of a token that has expired begins with the time at which it expired")
    func expired() throws {
        #expect(try cause(exp: 1_750_000_000)?.hasPrefix("it expired at 2025-06-15T15:06:40Z; apps replace a token") == true)
        // A wrong clock looks like an expired token.
        #expect(try cause(exp: 253_402_300_799)?.hasPrefix("apps replace a token") == true)
    }
}
