import Crypto

/// The symmetric algorithms of HPKE that protect a request and its response (RFC 9180, sections 7.2 and 7.3).
public struct SymmetricSuite: Sendable, Hashable {
    /// A key derivation function.
    public enum KDF: UInt16, Sendable, Hashable, CaseIterable {
        /// HKDF with SHA-256.
        case hkdfSHA256 = 0x0001
        /// HKDF with SHA-384.
        case hkdfSHA384 = 0x0002
        /// HKDF with SHA-512.
        case hkdfSHA512 = 0x0003

        var hpke: HPKE.KDF {
            switch self {
            case .hkdfSHA256: .HKDF_SHA256
            case .hkdfSHA384: .HKDF_SHA384
            case .hkdfSHA512: .HKDF_SHA512
            }
        }
    }

    /// An authenticated cipher.
    public enum AEAD: UInt16, Sendable, Hashable, CaseIterable {
        /// AES-128-GCM.
        case aes128GCM = 0x0001
        /// AES-256-GCM.
        case aes256GCM = 0x0002
        /// ChaCha20-Poly1305.
        case chaCha20Poly1305 = 0x0003

        /// The length of a nonce in bytes, Nn.
        static let nonceSize = 12
        /// The number of bytes that sealing adds, Nt.
        static let tagSize = 16

        /// The length of a key in bytes, Nk.
        var keySize: Int { self == .aes128GCM ? 16 : 32 }

        /// The length of a response nonce and of the exported secret in bytes, max(Nn, Nk) (RFC 9458, section 4.4).
        var entropySize: Int { max(Self.nonceSize, keySize) }

        var hpke: HPKE.AEAD {
            switch self {
            case .aes128GCM: .AES_GCM_128
            case .aes256GCM: .AES_GCM_256
            case .chaCha20Poly1305: .chaChaPoly
            }
        }
    }

    /// The key derivation function.
    public let kdf: KDF
    /// The authenticated cipher.
    public let aead: AEAD

    /// Makes a pair of algorithms.
    ///
    /// - Parameters:
    ///   - kdf: The key derivation function.
    ///   - aead: The authenticated cipher.
    public init(kdf: KDF = .hkdfSHA256, aead: AEAD) {
        self.kdf = kdf
        self.aead = aead
    }

    /// HKDF-SHA256 with AES-128-GCM, which every deployed gateway has.
    public static let aes128GCM = SymmetricSuite(aead: .aes128GCM)
    /// HKDF-SHA256 with AES-256-GCM.
    public static let aes256GCM = SymmetricSuite(aead: .aes256GCM)
    /// HKDF-SHA256 with ChaCha20-Poly1305.
    public static let chaCha20Poly1305 = SymmetricSuite(aead: .chaCha20Poly1305)
}
