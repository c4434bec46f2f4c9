package import ApproovBase
import Attestation
public import Foundation

/// A key that verifies tokens: algorithm, key and name are one thing, so that no token can choose another algorithm for it.
public struct VerificationKey: Sendable {
    /// What libjwt gets: the secret's bytes, or SubjectPublicKeyInfo PEM.
    let material: [UInt8]
    /// The exact bytes of a signature.
    let signatureBytes: Int
    /// The algorithm.
    public let algorithm: TokenAlgorithm
    /// The key's name in the header; nil for the account secret.
    public let kid: String?
    /// The public key as JWK (RFC 7517) with `kid`, `alg` and `use`; nil for HS256.
    package let jwkMembers: JSONValue?
    /// The JSON text of the public key as JWK (RFC 7517) with `kid`, `alg` and `use`; nil for HS256.
    public var jwk: Data? { jwkMembers.map { Data($0.serialized()) } }

    /// The account secret.
    ///
    /// - Throws: `TokenError.malformedKey` for a name that is not 1 to 64 visible ASCII characters.
    public static func hs256(_ secret: AccountSecret, kid: String? = nil) throws(TokenError) -> VerificationKey {
        try VerificationKey(material: secret.bytes, signatureBytes: 32, algorithm: .hs256, kid: kid, jwk: nil)
    }

    /// An RSA public key of 2,048 to 8,192 bits whose exponent is odd and 3 or more.
    ///
    /// - Throws: `TokenError.malformedKey`; `.weakKey` for fewer bits or another exponent.
    public static func rs256(publicPEM: String, kid: String? = nil) throws(TokenError) -> VerificationKey {
        try VerificationKey(try PEMKey.publicKey(pem: publicPEM, for: .rs256), algorithm: .rs256, kid: kid)
    }

    /// A P-256 public key.
    ///
    /// - Throws: `TokenError.malformedKey`.
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
            throw TokenError(.malformedKey, "a key's name is \(KeyIdentifier.readableRule)")
        }
        self.material = material
        self.signatureBytes = signatureBytes
        self.algorithm = algorithm
        self.kid = kid
        jwkMembers = jwk
    }
}

extension VerificationKey: CustomStringConvertible, CustomReflectable {
    /// Algorithm and name only.
    public var description: String { "VerificationKey(\(algorithm.rawValue), kid: \(kid ?? "none"))" }

    /// Nothing, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
