import Crypto
import Foundation

/// The public key of a key configuration, ready for HPKE.
enum HPKEPublicKey: Sendable {
    case x25519(Curve25519.KeyAgreement.PublicKey)
    case p256(P256.KeyAgreement.PublicKey)
    case xWing(XWingMLKEM768X25519.PublicKey)

    /// Reads a key and makes a trial context, so that a key that cannot be sealed to is refused together with its configuration.
    init(_ kem: KeyConfiguration.KEM, _ bytes: [UInt8]) throws(OHTTPError) {
        do {
            switch kem {
            case .x25519:
                guard !X25519Point.isLowOrder(bytes) else { throw CryptoKitError.incorrectParameterSize }
                self = .x25519(try Curve25519.KeyAgreement.PublicKey(bytes, kem: kem.hpke))
            case .p256: self = .p256(try P256.KeyAgreement.PublicKey(bytes, kem: kem.hpke))
            case .xWing: self = .xWing(try XWingMLKEM768X25519.PublicKey(bytes, kem: kem.hpke))
            }
            _ = try sender(HPKE.Ciphersuite(kem: kem.hpke, kdf: .HKDF_SHA256, aead: .AES_GCM_128), info: Data())
        } catch {
            throw OHTTPError(.malformedKeyConfiguration, "the public key is not valid for its KEM", cause: error)
        }
    }

    func sender(_ suite: HPKE.Ciphersuite, info: Data) throws -> HPKE.Sender {
        switch self {
        case .x25519(let key): try HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info)
        case .p256(let key): try HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info)
        case .xWing(let key): try HPKE.Sender(recipientKey: key, ciphersuite: suite, info: info)
        }
    }
}

/// The private key of a gateway.
enum HPKEPrivateKey: Sendable {
    case x25519(Curve25519.KeyAgreement.PrivateKey)
    case p256(P256.KeyAgreement.PrivateKey)
    case xWing(XWingMLKEM768X25519.PrivateKey)

    /// Makes a new key.
    init(_ kem: KeyConfiguration.KEM) throws(OHTTPError) {
        switch kem {
        case .x25519: self = .x25519(Curve25519.KeyAgreement.PrivateKey())
        case .p256: self = .p256(P256.KeyAgreement.PrivateKey())
        case .xWing:
            do {
                self = .xWing(try XWingMLKEM768X25519.PrivateKey())
            } catch {
                throw OHTTPError(.malformedKey, "an X-Wing key cannot be made", cause: error)
            }
        }
    }

    init(_ kem: KeyConfiguration.KEM, _ bytes: [UInt8]) throws(OHTTPError) {
        do {
            switch kem {
            case .x25519: self = .x25519(try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes))
            case .p256: self = .p256(try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes))
            case .xWing: self = .xWing(try XWingMLKEM768X25519.PrivateKey(seedRepresentation: bytes, publicKey: nil))
            }
        } catch {
            throw OHTTPError(.malformedKey, "the private key is not valid for its KEM; it must have 32 bytes", cause: error)
        }
    }

    var kem: KeyConfiguration.KEM {
        switch self {
        case .x25519: .x25519
        case .p256: .p256
        case .xWing: .xWing
        }
    }

    /// The 32 bytes that encode the key; for X-Wing, its seed.
    var rawRepresentation: [UInt8] {
        switch self {
        case .x25519(let key): [UInt8](key.rawRepresentation)
        case .p256(let key): [UInt8](key.rawRepresentation)
        case .xWing(let key): [UInt8](key.seedRepresentation)
        }
    }

    /// The public key, encoded as in a key configuration.
    var publicKey: [UInt8] {
        switch self {
        case .x25519(let key): [UInt8](key.publicKey.rawRepresentation)
        case .p256(let key): [UInt8](key.publicKey.x963Representation)
        case .xWing(let key): [UInt8](key.publicKey.rawRepresentation)
        }
    }

    func recipient(_ suite: HPKE.Ciphersuite, info: Data, encapsulatedKey: Data) throws -> HPKE.Recipient {
        switch self {
        case .x25519(let key): try HPKE.Recipient(privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulatedKey)
        case .p256(let key): try HPKE.Recipient(privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulatedKey)
        case .xWing(let key): try HPKE.Recipient(privateKey: key, ciphersuite: suite, info: info, encapsulatedKey: encapsulatedKey)
        }
    }
}
