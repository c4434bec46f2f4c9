public import CertificatePinning
import Crypto
import CryptoExtras
import SwiftASN1
import X509

/// A key pair for test certificates.
///
/// Generating an RSA key takes time; a test suite that needs several certificates can generate one key and reuse it.
public struct TestKey: Sendable {
    let privateKey: X509.Certificate.PrivateKey

    /// The private key as PEM (SEC 1 for NIST curves, PKCS#1 for RSA, PKCS#8 for Ed25519).
    public let privateKeyPEM: String
    /// The public key as DER of a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
    public let spki: [UInt8]

    /// Generates a key.
    /// - Parameter type: The kind of key.
    /// - Throws: When the key cannot be generated.
    public init(_ type: TestKeyType = .p256) throws {
        switch type {
        case .rsa1024: try self.init(X509.Certificate.PrivateKey(_RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024))))
        case .rsa2048: try self.init(X509.Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits2048)))
        case .rsa3072: try self.init(X509.Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits3072)))
        case .rsa4096: try self.init(X509.Certificate.PrivateKey(_RSA.Signing.PrivateKey(keySize: .bits4096)))
        case .p256: try self.init(X509.Certificate.PrivateKey(P256.Signing.PrivateKey()))
        case .p384: try self.init(X509.Certificate.PrivateKey(P384.Signing.PrivateKey()))
        case .p521: try self.init(X509.Certificate.PrivateKey(P521.Signing.PrivateKey()))
        case .ed25519: try self.init(X509.Certificate.PrivateKey(Curve25519.Signing.PrivateKey()))
        }
    }

    /// Reads a private key.
    /// - Parameter pem: SEC 1, PKCS#1 or PKCS#8 in PEM.
    /// - Throws: When the text is not a private key of a known kind.
    public init(pem: String) throws {
        try self.init(X509.Certificate.PrivateKey(pemEncoded: pem))
    }

    private init(_ key: X509.Certificate.PrivateKey) throws {
        privateKey = key
        privateKeyPEM = try key.serializeAsPEM().pemString
        var serializer = DER.Serializer()
        try serializer.serialize(key.publicKey)
        spki = serializer.serializedBytes
    }

    /// The public key as PEM (`PUBLIC KEY`).
    public var publicKeyPEM: String { PEMDocument(type: "PUBLIC KEY", derBytes: spki).pemString }

    /// The key's pin.
    public var pin: Pin { Pin(spki: spki) }

    /// SHA-256 of ``spki``: the 32 bytes of the key's pin.
    public var spkiSHA256: [UInt8] { Array(SHA256.hash(data: spki)) }
}
