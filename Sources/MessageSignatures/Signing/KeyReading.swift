internal import ApproovBase
internal import Crypto
internal import CryptoExtras

/// Reads shared keys.
enum SharedKey {
    /// An HMAC key.
    ///
    /// - Throws: ``MessageSignatureError`` with code `invalidKey` when the key is shorter than 16 bytes, so that no signature is made with
    ///   an empty or a guessable one.
    static func key(_ bytes: [UInt8]) throws(MessageSignatureError) -> SymmetricKey {
        guard bytes.count >= 16 else {
            throw MessageSignatureError(.invalidKey, "a shared key has \(bytes.count) bytes; use 32 random ones, and never fewer than 16")
        }
        return SymmetricKey(data: bytes)
    }
}

/// Reads RSA keys.
enum RSAKeys {
    static func privateKey(_ pem: String) throws(MessageSignatureError) -> _RSA.Signing.PrivateKey {
        do {
            return try _RSA.Signing.PrivateKey(pemRepresentation: pem)
        } catch {
            throw unreadable(error)
        }
    }

    static func publicKey(_ pem: String) throws(MessageSignatureError) -> _RSA.Signing.PublicKey {
        do {
            return try _RSA.Signing.PublicKey(pemRepresentation: pem)
        } catch {
            throw unreadable(error)
        }
    }

    private static func unreadable(_ error: any Error) -> MessageSignatureError {
        MessageSignatureError(.invalidKey, "the RSA key cannot be read; use PEM, and 2048 bits or more", cause: error)
    }
}
