internal import ApproovBase
internal import Crypto
internal import Foundation

/// The bytes of a token's file: a header, a nonce, and the record sealed with ChaCha20-Poly1305 (RFC 8439).
///
///     "AOT" 0x01 | key identifier, 8 bytes | nonce, 12 bytes | ciphertext | tag, 16 bytes
///
/// The header and the token's key are authenticated as well, so that a file in the place of another one does not open.
struct FileTokenFormat {
    /// Why a file does not open.
    enum Flaw: Error {
        /// It was written with another key.
        case wrongKey
        /// It is truncated, changed, in the place of another file, or of an unknown version.
        case damaged
    }

    private static let magic = Array("AOT".utf8) + [1]
    private static let headerBytes = 12
    /// The most bytes of a file.
    static let maximumBytes = TokenRecord.maximumBytes + 64

    private let key: SymmetricKey
    private let keyID: [UInt8]

    /// Prepares a key.
    ///
    /// - Parameter key: 32 random bytes.
    init(key: [UInt8]) {
        let master = SymmetricKey(data: key)
        func derived(_ purpose: String) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(inputKeyMaterial: master, info: Array("approov OAuth2 \(purpose)".utf8), outputByteCount: 32)
        }
        self.key = derived("token file")
        keyID = derived("key identifier").withUnsafeBytes { Array($0.prefix(8)) }
    }

    func seal(_ token: BearerToken, for tokenKey: TokenKey) throws -> [UInt8] {
        let header = Self.magic + keyID
        let box = try ChaChaPoly.seal(TokenRecord.bytes(of: token), using: key, authenticating: header + Array(tokenKey.text.utf8))
        return header + Array(box.combined)
    }

    func open(_ bytes: [UInt8], for tokenKey: TokenKey) throws(Flaw) -> BearerToken {
        guard bytes.count > Self.headerBytes, bytes.starts(with: Self.magic) else { throw .damaged }
        let header = Array(bytes.prefix(Self.headerBytes))
        guard let box = try? ChaChaPoly.SealedBox(combined: Data(bytes.dropFirst(Self.headerBytes))),
            let record = try? ChaChaPoly.open(box, using: key, authenticating: header + Array(tokenKey.text.utf8)),
            let token = TokenRecord.token(in: Array(record))
        else { throw Array(header.suffix(8)) == keyID ? .damaged : .wrongKey }
        return token
    }
}
