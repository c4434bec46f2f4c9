package import ApproovBase
import Attestation
import Crypto
public import Foundation

/// A key that verifies tokens, tied to its algorithm and name so that no token can choose another algorithm for it.
public struct VerificationKey: Sendable {
    /// The key as passed to libjwt: the secret's bytes, or SubjectPublicKeyInfo PEM.
    let material: [UInt8]
    /// The HMAC with this secret, to be copied and given the signed bytes; nil for other algorithms and without a secret.
    let hmac: HMAC<SHA256>?
    /// The exact size of a signature in bytes.
    let signatureBytes: Int
    /// The algorithm.
    public let algorithm: TokenAlgorithm
    /// The key's name in the token's header (`kid`); nil if the key has no name.
    public let kid: String?
    /// The public key as a JWK (RFC 7517) with `kid`, `alg` and `use`; nil for HS256.
    package let jwkMembers: JSONValue?
    /// The JSON text of the public key as a JWK (RFC 7517) with `kid`, `alg` and `use`; nil for HS256.
    public var jwk: Data? { jwkMembers.map { Data($0.serialized()) } }

    /// Makes an HS256 key from an account secret.
    ///
    /// - Parameters:
    ///   - secret: The account secret.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the name is not 1 to 64 visible ASCII characters.
    public static func hs256(_ secret: AccountSecret, kid: String? = nil) throws(TokenError) -> VerificationKey {
        try VerificationKey(material: secret.bytes, signatureBytes: 32, algorithm: .hs256, kid: kid, jwk: nil)
    }

    /// Reads an RSA public key of 2,048 to 8,192 bits whose exponent is odd and at least 3.
    ///
    /// - Parameters:
    ///   - publicPEM: The SubjectPublicKeyInfo.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the key is unreadable, private, of another type or too long, or its name is
    ///   not 1 to 64 visible ASCII characters; with code `weakKey` when it has fewer bits or another exponent.
    public static func rs256(publicPEM: String, kid: String? = nil) throws(TokenError) -> VerificationKey {
        try VerificationKey(try PEMKey.publicKey(pem: publicPEM, for: .rs256), algorithm: .rs256, kid: kid)
    }

    /// Reads a P-256 public key.
    ///
    /// - Parameters:
    ///   - publicPEM: The SubjectPublicKeyInfo.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the key is unreadable, private or of another type, or its name is not 1 to 64
    ///   visible ASCII characters.
    public static func es256(publicPEM: String, kid: String? = nil) throws(TokenError) -> VerificationKey {
        try VerificationKey(try PEMKey.publicKey(pem: publicPEM, for: .es256), algorithm: .es256, kid: kid)
    }

    /// The public key as SubjectPublicKeyInfo PEM; nil for HS256.
    public var publicPEM: String? { algorithm == .hs256 ? nil : String(decoding: material, as: UTF8.self) }

    init(_ key: borrowing PEMKey, algorithm: TokenAlgorithm, kid: String?) throws(TokenError) {
        var members = try key.jwkMembers(for: algorithm)
        members["kid"] = kid.map(JSONValue.string)
        members["alg"] = .string(algorithm.rawValue)
        members["use"] = "sig"
        try self.init(
            material: Array(try key.publicPEM().utf8), signatureBytes: key.signatureBytes(for: algorithm), algorithm: algorithm,
            kid: kid, jwk: .object(members))
    }

    private init(
        material: [UInt8], signatureBytes: Int, algorithm: TokenAlgorithm, kid: String?, jwk: JSONValue?
    ) throws(TokenError) {
        if let kid, !KeyIdentifier.isReadable(kid) {
            throw TokenError(.malformedKey, "a key's kid must be \(KeyIdentifier.readableRule)")
        }
        self.material = material
        hmac = algorithm == .hs256 && !material.isEmpty ? HMAC<SHA256>(key: SymmetricKey(data: material)) : nil
        self.signatureBytes = signatureBytes
        self.algorithm = algorithm
        self.kid = kid
        jwkMembers = jwk
    }
}

extension VerificationKey: CustomStringConvertible, CustomReflectable {
    /// The algorithm and name of the key.
    public var description: String { "VerificationKey(\(algorithm.rawValue), kid: \(kid ?? "none"))" }

    /// An empty mirror, so that `dump` does not show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
