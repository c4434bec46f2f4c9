import Attestation

/// A key that signs tokens: algorithm, key and name are one thing and cannot be mixed.
public struct SigningKey: Sendable {
    /// What libjwt gets: the secret's bytes, or PKCS #8 PEM.
    let material: [UInt8]
    /// The algorithm.
    public let algorithm: TokenAlgorithm
    /// The key's name in the header; nil for the account secret.
    public let kid: String?
    /// The key that verifies what this one signs.
    public let verificationKey: VerificationKey

    /// The private key, PKCS #8; nil for HS256.
    public var pem: String? { algorithm == .hs256 ? nil : String(decoding: material, as: UTF8.self) }

    /// The account secret.
    ///
    /// - Throws: `TokenError.malformedKey` for a name that is not 1 to 64 visible ASCII characters.
    public static func hs256(_ secret: AccountSecret, kid: String? = nil) throws(TokenError) -> SigningKey {
        SigningKey(
            material: secret.bytes, algorithm: .hs256, kid: kid, verificationKey: try VerificationKey.hs256(secret, kid: kid))
    }

    /// An RSA private key of 2,048 to 8,192 bits whose public exponent is odd and 3 or more.
    ///
    /// - Throws: `TokenError.malformedKey`, also for an encrypted key; `.weakKey` for fewer bits or another exponent.
    public static func rs256(pem: String, kid: String? = nil) throws(TokenError) -> SigningKey {
        try SigningKey(try PEMKey.privateKey(pem: pem, for: .rs256), algorithm: .rs256, kid: kid)
    }

    /// A P-256 private key.
    ///
    /// - Throws: `TokenError.malformedKey`, also for an encrypted key.
    public static func es256(pem: String, kid: String? = nil) throws(TokenError) -> SigningKey {
        try SigningKey(try PEMKey.privateKey(pem: pem, for: .es256), algorithm: .es256, kid: kid)
    }

    /// A new key: 64 random bytes, RSA of 2,048 bits, or P-256.
    ///
    /// - Throws: `TokenError.malformedKey` for a name that is not 1 to 64 letters, digits, dots, dashes and underscores, or when OpenSSL
    ///   fails. (A key that exists keeps any name of visible ASCII characters.)
    public static func generate(_ algorithm: TokenAlgorithm, kid: String? = nil) throws(TokenError) -> SigningKey {
        if let kid, !KeyIdentifier.isAllowedForNewKey(kid) {
            throw TokenError(.malformedKey, "a new key's name is \(KeyIdentifier.newKeyRule)")
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
    /// Algorithm and name only.
    public var description: String { "SigningKey(\(algorithm.rawValue), kid: \(kid ?? "none"))" }

    /// Nothing, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
