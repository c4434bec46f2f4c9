import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

/// Runs what README.md shows for limited-use tokens.
@Suite struct PaymentsTests {
    @Test("The payments snippet accepts a limited-use token once, and refuses other tokens and those with a refused annotation")
    func router() async throws {
        let folder = try TemporaryFolder()
        let secret = AccountSecret.generate()
        let now = Int64(Date().timeIntervalSince1970)
        func token(jti: String?, anno: [String]? = nil) throws -> String {
            try TokenSigner(key: .hs256(secret)).sign(TokenClaims(exp: now + 60, iat: now, aud: "api.example.com", anno: anno, jti: jti))
        }
        let verifier = try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com")
        let router = try payments(verifier: verifier, usedTokens: folder.path("store/used.sqlite"))
        let good = try token(jti: "first")
        let refused = [try token(jti: nil), try token(jti: "second", anno: ["dev-key"]), try token(jti: "third", anno: ["always-pass"])]
        try await Application(router: router, logger: .silent).test(.router) { (client) async throws in
            func status(_ token: String) async throws -> Int {
                try await client.execute(uri: "/payments", method: .post, headers: [.approovToken: token]) { $0.status.code }
            }
            for token in refused { #expect(try await status(token) == 401) }
            #expect(try await status(good) == 200)
            #expect(try await status(good) == 401)
        }
    }
}
