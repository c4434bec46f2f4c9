internal import ApproovBase
public import Crypto
internal import CryptoExtras
internal import Foundation

/// A key that signs messages with one of the algorithms of RFC 9421, section 3.3.
public struct SignatureSigningKey: MessageSigner {
    private enum Key: Sendable {
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
        case hmac(SymmetricKey)
        case rsaPSS(_RSA.Signing.PrivateKey)
        case rsaPKCS1(_RSA.Signing.PrivateKey)
    }

    private let key: Key

    private init(_ key: Key) { self.key = key }

    /// Signs with `ecdsa-p256-sha256`.
    ///
    /// - Parameter key: The private key.
    /// - Returns: The signer.
    public static func ecdsaP256SHA256(_ key: P256.Signing.PrivateKey) -> SignatureSigningKey { SignatureSigningKey(.p256(key)) }

    /// Signs with `ecdsa-p384-sha384`.
    ///
    /// - Parameter key: The private key.
    /// - Returns: The signer.
    public static func ecdsaP384SHA384(_ key: P384.Signing.PrivateKey) -> SignatureSigningKey { SignatureSigningKey(.p384(key)) }

    /// Signs with `ed25519`.
    ///
    /// - Parameter key: The private key.
    /// - Returns: The signer.
    public static func ed25519(_ key: Curve25519.Signing.PrivateKey) -> SignatureSigningKey { SignatureSigningKey(.ed25519(key)) }

    /// Signs with `hmac-sha256`.
    ///
    /// - Parameter key: The shared key, 16 bytes or more.
    /// - Returns: The signer.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key is shorter.
    public static func hmacSHA256(_ key: [UInt8]) throws(MessageSignatureError) -> SignatureSigningKey {
        SignatureSigningKey(.hmac(try SharedKey.key(key)))
    }

    /// Signs with `rsa-pss-sha512`.
    ///
    /// - Parameter pem: The private key in PEM, PKCS #1 or PKCS #8, 2048 bits or more.
    /// - Returns: The signer.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key cannot be read.
    public static func rsaPSSSHA512(pem: String) throws(MessageSignatureError) -> SignatureSigningKey {
        SignatureSigningKey(.rsaPSS(try RSAKeys.privateKey(pem)))
    }

    /// Signs with `rsa-v1_5-sha256`.
    ///
    /// - Parameter pem: The private key in PEM, PKCS #1 or PKCS #8, 2048 bits or more.
    /// - Returns: The signer.
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key cannot be read.
    public static func rsaPKCS1SHA256(pem: String) throws(MessageSignatureError) -> SignatureSigningKey {
        SignatureSigningKey(.rsaPKCS1(try RSAKeys.privateKey(pem)))
    }

    /// The algorithm of the signatures.
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

    /// Signs a base.
    ///
    /// - Parameter base: The signature base.
    /// - Returns: The signature.
    /// - Throws: ``MessageSignatureError`` with code `signingFailed`, with the cryptographic library's error as its cause.
    public func sign(_ base: [UInt8]) throws -> [UInt8] {
        do {
            switch key {
            case .p256(let key): return Array(try key.signature(for: base).rawRepresentation)
            case .p384(let key): return Array(try key.signature(for: base).rawRepresentation)
            case .ed25519(let key): return Array(try key.signature(for: base))
            case .hmac(let key): return Array(HMAC<SHA256>.authenticationCode(for: base, using: key))
            case .rsaPSS(let key): return Array(try key.signature(for: SHA512.hash(data: base), padding: .PSS).rawRepresentation)
            case .rsaPKCS1(let key):
                return Array(try key.signature(for: SHA256.hash(data: base), padding: .insecurePKCS1v1_5).rawRepresentation)
            }
        } catch {
            throw MessageSignatureError(.signingFailed, "the key could not sign", cause: error)
        }
    }
}
