import Attestation

/// A key that signs tokens, tied to its algorithm and name so that they cannot be mixed up.
public struct SigningKey: Sendable {
    /// The key as passed to libjwt: the secret's bytes, or PKCS #8 PEM.
    let material: [UInt8]
    /// The algorithm.
    public let algorithm: TokenAlgorithm
    /// The key's name in the token's header (`kid`); nil if the key has no name.
    public let kid: String?
    /// The key that verifies this key's signatures.
    public let verificationKey: VerificationKey

    /// The private key as PKCS #8 PEM; nil for HS256.
    public var pem: String? { algorithm == .hs256 ? nil : String(decoding: material, as: UTF8.self) }

    /// Makes an HS256 key from an account secret.
    ///
    /// - Parameters:
    ///   - secret: The account secret.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the name is not 1 to 64 visible ASCII characters.
    public static func hs256(_ secret: AccountSecret, kid: String? = nil) throws(TokenError) -> SigningKey {
        SigningKey(
            material: secret.bytes, algorithm: .hs256, kid: kid, verificationKey: try VerificationKey.hs256(secret, kid: kid))
    }

    /// Reads an RSA private key of 2,048 to 8,192 bits whose public exponent is odd and at least 3.
    ///
    /// - Parameters:
    ///   - pem: The unencrypted private key.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the key is unreadable, encrypted, of another type or too long, or its name is
    ///   not 1 to 64 visible ASCII characters; with code `weakKey` when it has fewer bits or another exponent.
    public static func rs256(pem: String, kid: String? = nil) throws(TokenError) -> SigningKey {
        try SigningKey(try PEMKey.privateKey(pem: pem, for: .rs256), algorithm: .rs256, kid: kid)
    }

    /// Reads a P-256 private key.
    ///
    /// - Parameters:
    ///   - pem: The unencrypted private key.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the key is unreadable, encrypted or of another type, or its name is not 1 to
    ///   64 visible ASCII characters.
    public static func es256(pem: String, kid: String? = nil) throws(TokenError) -> SigningKey {
        try SigningKey(try PEMKey.privateKey(pem: pem, for: .es256), algorithm: .es256, kid: kid)
    }

    /// Makes a new key: 64 random bytes for HS256, RSA with 2,048 bits, or P-256.
    ///
    /// The rule for the names of new keys is narrower than for existing keys, which may have any name of visible ASCII characters.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - kid: The key's name; nil for none.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code `malformedKey` when the name is not 1 to 64 letters, digits, dots, dashes and underscores, or
    ///   when OpenSSL fails.
    public static func generate(_ algorithm: TokenAlgorithm, kid: String? = nil) throws(TokenError) -> SigningKey {
        if let kid, !KeyIdentifier.isAllowedForNewKey(kid) {
            throw TokenError(.malformedKey, "the kid of a new key must be \(KeyIdentifier.newKeyRule)")
        }
        switch algorithm {
        case .hs256: return try hs256(.generate(), kid: kid)
        case .rs256, .es256: return try SigningKey(try PEMKey.generate(algorithm), algorithm: algorithm, kid: kid)
        }
    }

    private init(_ key: consuming PEMKey, algorithm: TokenAlgorithm, kid: String?) throws(TokenError) {
        material = Array(try key.privatePEM().utf8)
        verificationKey = try VerificationKey(key, algorithm: algorithm, kid: kid)
        self.algorithm = algorithm
        self.kid = kid
    }

    private init(material: [UInt8], algorithm: TokenAlgorithm, kid: String?, verificationKey: VerificationKey) {
        self.material = material
        self.algorithm = algorithm
        self.kid = kid
        self.verificationKey = verificationKey
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    /// The algorithm and name of the key.
    public var description: String { "SigningKey(\(algorithm.rawValue), kid: \(kid ?? "none"))" }

    /// An empty mirror, so that `dump` does not show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
