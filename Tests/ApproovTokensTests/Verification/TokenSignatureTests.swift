import ApproovBase
@testable import ApproovTokens
import Attestation
import Testing

/// HS256 is verified without libjwt; both must agree.
@Suite struct TokenSignatureTests {
    private let key: SigningKey
    private let other: VerificationKey

    init() throws {
        key = try .hs256(AccountSecret(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }), kid: nil)
        other = try .hs256(AccountSecret(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }))
    }

    private func verifies(_ token: [UInt8], with key: VerificationKey) throws -> (own: Bool, libjwt: Bool) {
        try token.withUnsafeBufferPointer { bytes in
            let segments = try #require(TokenSegments(bytes))
            let signature = Base64URL.decode(utf8: UnsafeBufferPointer(rebasing: bytes[segments.signature])) ?? []
            return (TokenSignature.verifies(signature, of: bytes, segments, key: key), LibJWT.verifies(bytes, key: key))
        }
    }

    @Test("The key that signed a token verifies it, and another key does not, with and without libjwt")
    func keys() throws {
        let token = Array(try TokenSigner(key: key).sign(TokenClaims(exp: 1)).utf8)
        #expect(try verifies(token, with: key.verificationKey) == (true, true))
        #expect(try verifies(token, with: other) == (false, false))
    }

    @Test("No token with another byte in its header, payload or signature is verified")
    func bytes() throws {
        let token = Array(try TokenSigner(key: key).sign(TokenClaims(exp: 1, did: "device")).utf8)
        for index in token.indices where token[index] != UInt8(ascii: ".") {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            // The last character of the signature has two bits that decoders may ignore; ours refuses other ones.
            #expect(try !verifies(changed, with: key.verificationKey).own)
        }
    }
}
