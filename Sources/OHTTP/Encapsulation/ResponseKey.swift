import Crypto
import Foundation

/// The secret that client and gateway derive from a request to protect its response (RFC 9458, section 4.4).
struct ResponseSecret: Sendable {
    private let suite: SymmetricSuite
    private let secret: SymmetricKey
    private let encapsulatedKey: Data

    init(_ sender: borrowing HPKE.Sender, suite: SymmetricSuite, variant: Variant) throws {
        self.suite = suite
        secret = try sender.exportSecret(context: Data(variant.responseLabel.utf8), outputByteCount: suite.aead.entropySize)
        encapsulatedKey = sender.encapsulatedKey
    }

    init(_ recipient: borrowing HPKE.Recipient, encapsulatedKey: Data, suite: SymmetricSuite, variant: Variant) throws {
        self.suite = suite
        secret = try recipient.exportSecret(context: Data(variant.responseLabel.utf8), outputByteCount: suite.aead.entropySize)
        self.encapsulatedKey = encapsulatedKey
    }

    /// The length of the nonce at the beginning of a response, in bytes.
    var nonceSize: Int { suite.aead.entropySize }

    /// Makes a new nonce with the system's random generator.
    func makeNonce() -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: nonceSize * 8)).withUnsafeBytes { [UInt8]($0) }
    }

    /// Derives the key and base nonce of the response that begins with `responseNonce`.
    func key(responseNonce: some Sequence<UInt8>) -> ResponseKey {
        var salt = encapsulatedKey
        salt.append(contentsOf: responseNonce)
        return switch suite.kdf {
        case .hkdfSHA256: derive(SHA256.self, salt: salt)
        case .hkdfSHA384: derive(SHA384.self, salt: salt)
        case .hkdfSHA512: derive(SHA512.self, salt: salt)
        }
    }

    private func derive<Hash: HashFunction>(_: Hash.Type, salt: Data) -> ResponseKey {
        let prk = HKDF<Hash>.extract(inputKeyMaterial: secret, salt: salt)
        let key = HKDF<Hash>.expand(pseudoRandomKey: prk, info: Data("key".utf8), outputByteCount: suite.aead.keySize)
        let nonce = HKDF<Hash>.expand(pseudoRandomKey: prk, info: Data("nonce".utf8), outputByteCount: SymmetricSuite.AEAD.nonceSize)
        return ResponseKey(aead: suite.aead, key: key, baseNonce: nonce.withUnsafeBytes { [UInt8]($0) })
    }
}

/// The key of one response.
struct ResponseKey: Sendable {
    let aead: SymmetricSuite.AEAD
    let key: SymmetricKey
    let baseNonce: [UInt8]

    /// Seals message number `counter` of the response; an unchunked response has only number 0.
    ///
    /// - Parameters:
    ///   - plaintext: The bytes to seal.
    ///   - data: The bytes to authenticate with them.
    ///   - counter: The number of the message.
    /// - Returns: Ciphertext and tag, without the nonce.
    /// - Throws: `CryptoKitError` when the cipher fails.
    func seal(_ plaintext: some DataProtocol, authenticating data: [UInt8] = [], counter: UInt64 = 0) throws -> Data {
        let nonce = nonce(counter)
        switch aead {
        case .aes128GCM, .aes256GCM:
            let box = try AES.GCM.seal(plaintext, using: key, nonce: AES.GCM.Nonce(data: nonce), authenticating: data)
            guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
            return combined.dropFirst(SymmetricSuite.AEAD.nonceSize)
        case .chaCha20Poly1305:
            let box = try ChaChaPoly.seal(plaintext, using: key, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: data)
            return box.combined.dropFirst(SymmetricSuite.AEAD.nonceSize)
        }
    }

    /// Opens message number `counter`, given as ciphertext and tag.
    func open(_ sealed: some DataProtocol, authenticating data: [UInt8] = [], counter: UInt64 = 0) throws -> Data {
        guard sealed.count >= SymmetricSuite.AEAD.tagSize else { throw CryptoKitError.incorrectParameterSize }
        let ciphertext = sealed.dropLast(SymmetricSuite.AEAD.tagSize)
        let tag = sealed.suffix(SymmetricSuite.AEAD.tagSize)
        let nonce = nonce(counter)
        switch aead {
        case .aes128GCM, .aes256GCM:
            let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
            return try AES.GCM.open(box, using: key, authenticating: data)
        case .chaCha20Poly1305:
            let box = try ChaChaPoly.SealedBox(nonce: ChaChaPoly.Nonce(data: nonce), ciphertext: ciphertext, tag: tag)
            return try ChaChaPoly.open(box, using: key, authenticating: data)
        }
    }

    /// The base nonce with the counter XORed into its last bytes.
    private func nonce(_ counter: UInt64) -> [UInt8] {
        var nonce = baseNonce
        for index in 0..<8 { nonce[nonce.count - 1 - index] ^= UInt8(truncatingIfNeeded: counter >> (8 * UInt64(index))) }
        return nonce
    }
}
