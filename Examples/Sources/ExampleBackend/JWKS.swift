import ApproovTokens
import Crypto
import Foundation

/// The public keys that an authority publishes at `/.well-known/jwks.json` (RFC 7517).
struct JWKS: Decodable {
    /// A key; the members are those of an EC key (RFC 7518, section 6.2).
    struct Key: Decodable {
        let kid: String
        let alg: String
        let x: String?
        let y: String?
    }

    /// The key's coordinates are missing or malformed.
    struct MalformedKey: Error {
        let kid: String
    }

    let keys: [Key]

    /// Makes the verification keys of the ES256 keys.
    func verificationKeys() throws -> [VerificationKey] {
        try keys.filter { $0.alg == "ES256" }.map { key in
            guard let x = key.x.flatMap(bytes), let y = key.y.flatMap(bytes) else { throw MalformedKey(kid: key.kid) }
            let publicKey = try P256.Signing.PublicKey(x963Representation: [4] + x + y)
            return try .es256(publicPEM: publicKey.pemRepresentation, kid: key.kid)
        }
    }

    /// Decodes base64url without padding.
    private func bytes(_ text: String) -> Data? {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
    }
}
