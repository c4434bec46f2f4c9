import Crypto

/// ES256 (RFC 7518, section 3.4): ECDSA over P-256 with SHA-256; the signature is r and s, 32 bytes each.
enum ES256 {
    static let signatureLength = 64

    static func sign(_ bytes: [UInt8], by key: P256.Signing.PrivateKey) throws(AttestationError) -> [UInt8] {
        do {
            return Array(try key.signature(for: bytes).rawRepresentation)
        } catch {
            throw AttestationError(.malformedKey, "the private key cannot sign", cause: error)
        }
    }

    static func verify(_ signature: [UInt8], over bytes: [UInt8], by key: P256.Signing.PublicKey) -> Bool {
        guard signature.count == signatureLength, let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            return false
        }
        return key.isValidSignature(parsed, for: bytes)
    }
}
