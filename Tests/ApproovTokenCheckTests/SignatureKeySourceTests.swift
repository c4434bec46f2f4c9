import ApproovBase
import Attestation
import Crypto
import MessageSignatures
import Testing

@testable import ApproovTokenCheck

@Suite struct SignatureKeySourceTests {
    private let installation = P256.Signing.PrivateKey()
    private let accountKey = [UInt8](repeating: 5, count: 32)

    private func flaw(_ source: SignatureKeySource, _ change: (inout TokenClaims) -> Void = { _ in }) -> SignatureKeySource.Flaw? {
        var claims = TokenClaims(exp: 1, did: "AAECAwQFBgcICQoLDA0ODw==", ipk: Base64.encode(installation.publicKey.derRepresentation))
        claims.mskid = "j3AWy6"
        change(&claims)
        if case .failure(let flaw) = source.key(for: claims) { return flaw }
        return nil
    }

    @Test("The check names each reason for having no key")
    func flaws() {
        #expect(flaw(.installation) == nil)
        #expect(flaw(.installation) { $0.ipk = nil } == .missingInstallationKey)
        #expect(flaw(.installation) { $0.ipk = "AAAA" } == .malformedInstallationKey)
        #expect(flaw(.account(["j3AWy6": accountKey])) == nil)
        #expect(flaw(.account(["j3AWy6": accountKey])) { $0.mskid = nil } == .missingAccountKeyID)
        #expect(flaw(.account(["other": accountKey])) == .unknownAccountKey)
        #expect(flaw(.account(["j3AWy6": [1, 2, 3]])) == .malformedAccountKey)
        #expect(flaw(.account { _ in nil }) == .unknownAccountKey)
        #expect(flaw(.supersededDerivedAccountKey(baseSecret: accountKey)) == nil)
        #expect(flaw(.supersededDerivedAccountKey(baseSecret: accountKey)) { $0.did = nil } == .missingDeviceID)
        #expect(flaw(.supersededDerivedAccountKey(baseSecret: accountKey)) { $0.did = "!" } == .missingDeviceID)
    }

    @Test("The account key has the ID that the token names; the other keys have none")
    func ids() throws {
        var claims = TokenClaims(exp: 1, did: "AAECAwQFBgcICQoLDA0ODw==", ipk: Base64.encode(installation.publicKey.derRepresentation))
        claims.mskid = "j3AWy6"
        #expect(try SignatureKeySource.account(["j3AWy6": accountKey]).key(for: claims).get().id == "j3AWy6")
        #expect(try SignatureKeySource.installation.key(for: claims).get().id == nil)
        #expect(try SignatureKeySource.supersededDerivedAccountKey(baseSecret: accountKey).key(for: claims).get().id == nil)
    }

    @Test("The superseded derived key has the bytes of the original's vector")
    func derivedKey() throws {
        let claims = TokenClaims(exp: 1_700_000_000, did: Base64.encode(Array(UInt8(1)...16)))
        let derived = try #require(SignatureKeySource.derivedKey(from: Array(UInt8(0)...15), claims: claims))
        #expect(
            derived.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                == "ecd30d129c9fc0c6a3676a0dcfed6d7e5e3944e0b62bb6fa99c5e4b70542606d")
        let signature = try #require(Base64.decode("ioJP6BabRL4ogkzixbrrLq4r1wqdiX6N4H7XF6S6Kgk="))
        #expect(try SignatureVerificationKey.hmacSHA256(derived).isValid(signature, for: Array("account-message".utf8)))
    }
}
