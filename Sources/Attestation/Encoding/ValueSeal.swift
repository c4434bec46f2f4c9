import ApproovBase
import Crypto
import Foundation

/// Encrypts and authenticates short values with a key of the installation: ChaCha20-Poly1305 (RFC 8439), under random nonces.
package struct ValueSeal: Sendable {
    private let key: SymmetricKey

    /// Derives the key.
    ///
    /// - Parameters:
    ///   - attester: The attester with the installation's secret; the result is nil if it has none.
    ///   - purpose: What the values are for.
    package init?(_ attester: any Attester, for purpose: String) {
        guard let key = attester.secretKey(for: purpose), key.bitCount == 256 else { return nil }
        self.key = key
    }

    /// Seals a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - name: What the value is; the seal opens for this name only.
    /// - Returns: Nonce, ciphertext and tag.
    /// - Throws: An error of the library; none is known.
    package func seal(_ value: String, for name: String) throws -> [UInt8] {
        Array(try ChaChaPoly.seal(Array(value.utf8), using: key, authenticating: Array(name.utf8)).combined)
    }

    /// Opens a sealed value.
    ///
    /// - Parameters:
    ///   - bytes: Nonce, ciphertext and tag.
    ///   - name: The name for which it was sealed.
    /// - Returns: The value; nil when it was sealed with another key or for another name, or was changed.
    package func open(_ bytes: [UInt8], for name: String) -> String? {
        guard let box = try? ChaChaPoly.SealedBox(combined: bytes),
            let value = try? ChaChaPoly.open(box, using: key, authenticating: Array(name.utf8))
        else { return nil }
        return String(bytes: value, encoding: .utf8)
    }
}
