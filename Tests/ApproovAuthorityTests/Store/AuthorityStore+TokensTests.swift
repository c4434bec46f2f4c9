import ApproovAuthority
import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct AuthorityStoreTokensTests {
    @Test("An example token has the claims of an app's token, and its did is that of its ipk", arguments: [true, false])
    func claims(isValid: Bool) async throws {
        func names(_ token: String) throws -> [String] {
            let payload = try #require(Base64URL.decode(token.split(separator: ".").dropFirst().first.map(String.init) ?? ""))
            return try JSONValue(reading: payload, limit: 8_192).object().keys.sorted()
        }
        let account = try await AuthorityBench()
        let example = try account.store.exampleToken(forHost: AuthorityBench.host, isValid: isValid)
        let real = try await account.attest(account.evidence()).token
        #expect(try names(example) == names(real))
        let claims = try unverifiedParts(of: example).claims
        let key = try P256.Signing.PublicKey(derRepresentation: #require(Base64.decode(claims.ipk ?? "")))
        #expect(claims.did == DeviceID(installationKey: key).base64)
        let another = try unverifiedParts(of: account.store.exampleToken(forHost: AuthorityBench.host)).claims
        #expect(another.ipk != claims.ipk && another.did != claims.did)
        try await account.store.setIncludesInstallationKey(false)
        #expect(try unverifiedParts(of: account.store.exampleToken(forHost: AuthorityBench.host)).claims.ipk == nil)
    }
}
