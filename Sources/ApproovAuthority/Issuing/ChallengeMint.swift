internal import ApproovBase
internal import Attestation
internal import Crypto

/// Makes challenges and recognises them.
///
/// It stores nothing, because a challenge carries its own proof.
///
/// The text is the base64url of a nonce (16 bytes), the expiry (8 bytes, seconds since 1970, big endian) and an HMAC-SHA256 over a label,
/// nonce, expiry and account. The MAC of a challenge that is bound to one installation uses another label, and also covers the thumbprint
/// of the installation key (RFC 7638), before the account.
struct ChallengeMint: Sendable {
    /// The content of a challenge that this account made.
    struct Genuine: Sendable {
        let nonce: [UInt8]
        let expiresAt: Int64
        /// Whether the challenge is bound to one installation.
        let isBound: Bool
    }

    /// The lifetime of a challenge that a client asks for, in seconds.
    static let freshLifetime: Int64 = 60

    /// The size of the key, in bytes.
    static let keySize = 32

    private static let label = Array("approov-challenge".utf8)
    private static let boundLabel = Array("approov-challenge-for-key".utf8)
    private static let nonceSize = 16
    private static let bodySize = 24

    let key: SymmetricKey
    private let account: [UInt8]
    /// The HMAC with the key, to be copied.
    private let hmac: HMAC<SHA256>

    init(key: SymmetricKey, account: String) {
        self.key = key
        self.account = Array(account.utf8)
        hmac = HMAC<SHA256>(key: key)
    }

    /// Makes a challenge.
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - lifetime: The lifetime, in seconds.
    ///   - thumbprint: The thumbprint of the installation key that must sign the evidence; nil for any key.
    /// - Returns: A challenge that differs from every other.
    func make(now: Int64, lifetime: Int64, for thumbprint: [UInt8]? = nil) -> Challenge {
        let expiry = UInt64(clamping: now + lifetime)
        let body = SystemRandom.bytes(Self.nonceSize) + (0..<8).map { UInt8(truncatingIfNeeded: expiry >> (56 - 8 * $0)) }
        let value = Base64URL.encode(body + authenticationCode(body, thumbprint).withUnsafeBytes { Array($0) })
        return Challenge(value: value, expiresIn: Int(lifetime))
    }

    /// Verifies a challenge; nil if this account did not make it, or made it for another installation.
    /// - Parameters:
    ///   - text: The challenge.
    ///   - thumbprint: The thumbprint of the installation key that signed the evidence.
    /// - Returns: The challenge's content.
    func open(_ text: String, from thumbprint: [UInt8]) -> Genuine? {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.bodySize + SHA256.byteCount else { return nil }
        let body = Array(bytes[..<Self.bodySize])
        func isMade(for thumbprint: [UInt8]?) -> Bool {
            // Compares in constant time.
            authenticationCode(body, thumbprint) == bytes[Self.bodySize...]
        }
        let isBound = thumbprint.count == SHA256.byteCount && isMade(for: thumbprint)
        guard isBound || isMade(for: nil) else { return nil }
        let expiry = body[Self.nonceSize...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Genuine(nonce: Array(body[..<Self.nonceSize]), expiresAt: Int64(clamping: expiry), isBound: isBound)
    }

    private func authenticationCode(_ body: [UInt8], _ thumbprint: [UInt8]?) -> HMAC<SHA256>.MAC {
        var hmac = hmac
        // For one account, the inputs of the two kinds differ in length, so no challenge can be of both kinds.
        hmac.update(data: (thumbprint == nil ? Self.label : Self.boundLabel) + body + (thumbprint ?? []) + account)
        return hmac.finalize()
    }
}
