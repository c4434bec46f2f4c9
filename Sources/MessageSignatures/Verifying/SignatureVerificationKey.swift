internal import ApproovBase
public import Crypto
internal import CryptoExtras
internal import Foundation

/// A key that verifies signatures with the one algorithm that it is for.
public struct SignatureVerificationKey: Sendable {
    private enum Key: Sendable {
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case hmac(SymmetricKey)
        case rsaPSS(_RSA.Signing.PublicKey)
        case rsaPKCS1(_RSA.Signing.PublicKey)
    }

    /// The name of the key in the parameter `keyid`; nil if the application knows by other means which key it is.
    public let id: String?
    private let key: Key

    private init(_ key: Key, _ id: String?) {
        self.key = key
        self.id = id
    }

    /// Verifies `ecdsa-p256-sha256`.
    ///
    /// - Parameters:
    ///   - key: The public key.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    public static func ecdsaP256SHA256(_ key: P256.Signing.PublicKey, id: String? = nil) -> SignatureVerificationKey {
        SignatureVerificationKey(.p256(key), id)
    }

    /// Verifies `ecdsa-p384-sha384`.
    ///
    /// - Parameters:
    ///   - key: The public key.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    public static func ecdsaP384SHA384(_ key: P384.Signing.PublicKey, id: String? = nil) -> SignatureVerificationKey {
        SignatureVerificationKey(.p384(key), id)
    }

    /// Verifies `ed25519`.
    ///
    /// - Parameters:
    ///   - key: The public key.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    public static func ed25519(_ key: Curve25519.Signing.PublicKey, id: String? = nil) -> SignatureVerificationKey {
        SignatureVerificationKey(.ed25519(key), id)
    }

    /// Verifies `hmac-sha256`.
    ///
    /// - Parameters:
    ///   - key: The shared key, 16 bytes or more.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key is shorter.
    public static func hmacSHA256(_ key: [UInt8], id: String? = nil) throws(MessageSignatureError) -> SignatureVerificationKey {
        SignatureVerificationKey(.hmac(try SharedKey.key(key)), id)
    }

    /// Verifies `rsa-pss-sha512`.
    ///
    /// - Parameters:
    ///   - pem: The public key in PEM, 2048 bits or more.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key cannot be read.
    public static func rsaPSSSHA512(pem: String, id: String? = nil) throws(MessageSignatureError) -> SignatureVerificationKey {
        SignatureVerificationKey(.rsaPSS(try RSAKeys.publicKey(pem)), id)
    }

    /// Verifies `rsa-v1_5-sha256`.
    ///
    /// - Parameters:
    ///   - pem: The public key in PEM, 2048 bits or more.
    ///   - id: The name of the key; nil if the application knows by other means which key it is.
    /// - Returns: The key.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key cannot be read.
    public static func rsaPKCS1SHA256(pem: String, id: String? = nil) throws(MessageSignatureError) -> SignatureVerificationKey {
        SignatureVerificationKey(.rsaPKCS1(try RSAKeys.publicKey(pem)), id)
    }

    /// The algorithm that this key is for.
    public var algorithm: SignatureAlgorithm {
        switch key {
        case .p256: .ecdsaP256SHA256
        case .p384: .ecdsaP384SHA384
        case .ed25519: .ed25519
        case .hmac: .hmacSHA256
        case .rsaPSS: .rsaPSSSHA512
        case .rsaPKCS1: .rsaPKCS1SHA256
        }
    }

    /// Whether a signature is this key's signature of a base.
    ///
    /// - Parameters:
    ///   - signature: The signature; for ECDSA r and s, not DER.
    ///   - base: The signature base.
    /// - Returns: True when it is.
    public func isValid(_ signature: [UInt8], for base: [UInt8]) -> Bool {
        switch key {
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: base)
        case .p384(let key):
            guard let signature = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: base)
        case .ed25519(let key): return key.isValidSignature(signature, for: base)
        case .hmac(let key): return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: base, using: key)
        case .rsaPSS(let key):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA512.hash(data: base), padding: .PSS)
        case .rsaPKCS1(let key):
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: base), padding: .insecurePKCS1v1_5)
        }
    }
}
