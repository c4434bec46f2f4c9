internal import ApproovBase
internal import Attestation
internal import Crypto

/// Makes challenges and recognises them.
///
/// Nothing is kept: a challenge carries its own proof.
///
/// Its text is base64url of nonce (16 bytes), expiry (8 bytes, seconds since 1970, big endian) and an HMAC-SHA256 over a label,
/// both, and the account. The MAC of one for a single installation has another label, and also covers the thumbprint of the installation's
/// key (RFC 7638), before the account.
struct ChallengeMint: Sendable {
    /// A challenge that this account made.
    struct Genuine: Sendable {
        let nonce: [UInt8]
        let expiresAt: Int64
        /// Whether it is for a single installation.
        let isBound: Bool
    }

    /// How long one that was asked for is good for, in seconds.
    static let freshLifetime: Int64 = 60

    private static let label = Array("approov-challenge".utf8)
    private static let boundLabel = Array("approov-challenge-for-key".utf8)
    private static let nonceSize = 16
    private static let bodySize = 24

    let key: SymmetricKey
    let account: String

    /// Makes a challenge.
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - lifetime: How long it is good for, in seconds.
    ///   - thumbprint: That of the installation key whose evidence it is for; nil for any.
    /// - Returns: A challenge that no other is equal to.
    func make(now: Int64, lifetime: Int64, for thumbprint: [UInt8]? = nil) -> Challenge {
        let expiry = UInt64(clamping: now + lifetime)
        let body = SystemRandom.bytes(Self.nonceSize) + (0..<8).map { UInt8(truncatingIfNeeded: expiry >> (56 - 8 * $0)) }
        let value = Base64URL.encode(body + Array(HMAC<SHA256>.authenticationCode(for: authenticated(body, thumbprint), using: key)))
        return Challenge(value: value, expiresIn: Int(lifetime))
    }

    /// What a challenge says, or nil when this account did not make it, or made it for another installation.
    /// - Parameters:
    ///   - text: The challenge.
    ///   - thumbprint: That of the installation key that signed the evidence.
    /// - Returns: Its content.
    func open(_ text: String, from thumbprint: [UInt8]) -> Genuine? {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.bodySize + SHA256.byteCount else { return nil }
        let body = Array(bytes[..<Self.bodySize])
        func isMade(for thumbprint: [UInt8]?) -> Bool {
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes[Self.bodySize...], authenticating: authenticated(body, thumbprint), using: key)
        }
        let isBound = thumbprint.count == SHA256.byteCount && isMade(for: thumbprint)
        guard isBound || isMade(for: nil) else { return nil }
        let expiry = body[Self.nonceSize...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Genuine(nonce: Array(body[..<Self.nonceSize]), expiresAt: Int64(clamping: expiry), isBound: isBound)
    }

    private func authenticated(_ body: [UInt8], _ thumbprint: [UInt8]?) -> [UInt8] {
        // Of one account's, the two kinds differ in length, so that no text is both.
        (thumbprint == nil ? Self.label : Self.boundLabel) + body + (thumbprint ?? []) + Array(account.utf8)
    }
}
