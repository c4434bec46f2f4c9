internal import ApproovBase
internal import Crypto
internal import CryptoExtras
public import Foundation

/// The attestation response code: the verdict about a device, in 26 characters that only the account's operator can read.
///
/// It is one AES-128 block under a key of the account, in base32 without padding (RFC 4648, section 6):
///
///     byte  0       version, 1
///     bytes 1...2   one bit for each reason, big endian; 0 = passed
///     bytes 3...6   the first four bytes of the device ID
///     bytes 7...10  seconds since 1970, big endian
///     bytes 11...15 random
///
/// An app sees the code in its token and in the result, but cannot tell from it whether it passed. A decrypted block with another version
/// or unknown reasons was not made by this account.
public struct ARC: Hashable, Sendable {
    /// The reasons for the rejection; empty if the evidence was trusted.
    public let reasons: Set<RejectionReason>
    /// The first four bytes of the device ID, for comparison with a `did` claim; zeros for an oblivious host.
    public let deviceHint: [UInt8]
    /// The time when the code was made, to the second; 1970 for an oblivious host.
    public let issuedAt: Date

    /// The size of the account's key, in bytes: that of AES-128.
    static let keySize = 16

    private static let version: UInt8 = 1
    private static let size = 16
    private static let hintSize = 4
    private static let knownBits = RejectionReason.allCases.reduce(UInt16(0)) { $0 | $1.bit }

    init(reasons: Set<RejectionReason>, deviceID: some Collection<UInt8>, issuedAt: Date) {
        self.reasons = reasons
        self.deviceHint = Array(deviceID.prefix(Self.hintSize))
        self.issuedAt = issuedAt
    }

    /// Creates a code that holds the verdict but identifies no device, for tokens of oblivious hosts.
    ///
    /// The text still differs each time. If it depended on the verdict alone, an app could learn its own verdict by comparing its code with
    /// one whose verdict is known. The random text does not weaken anonymity: requests that share a token can be linked by the token
    /// anyway.
    init(anonymous reasons: Set<RejectionReason>) {
        self.init(reasons: reasons, deviceID: [], issuedAt: Date(timeIntervalSince1970: 0))
    }

    /// Reads a code.
    /// - Parameters:
    ///   - text: 26 characters of base32.
    ///   - key: The account's key for these codes.
    /// - Returns: The decoded code.
    /// - Throws: ``AuthorityError`` with code `malformedARC` when the text is malformed or the code is another account's.
    static func decode(_ text: String, key: SymmetricKey) throws -> ARC {
        let refusal = AuthorityError(
            .malformedARC, "this is not an attestation response code of this account; copy all 26 characters of the arc claim")
        guard var block = Base32.decode(text), block.count == size else { throw refusal }
        try AES.inversePermute(&block, key: key)
        guard block[0] == version else { throw refusal }
        let bits = UInt16(block[1]) << 8 | UInt16(block[2])
        guard bits & ~knownBits == 0 else { throw refusal }
        let seconds = block[7...10].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return ARC(
            reasons: Set(RejectionReason.allCases.filter { bits & $0.bit != 0 }), deviceID: block[3...6],
            issuedAt: Date(timeIntervalSince1970: TimeInterval(seconds)))
    }

    /// Encrypts the code.
    /// - Parameter key: The account's key for these codes, 16 bytes.
    /// - Returns: 26 characters of base32.
    /// - Throws: An error of swift-crypto when the key has another size.
    func encoded(key: SymmetricKey) throws -> String {
        let bits = reasons.reduce(UInt16(0)) { $0 | $1.bit }
        let seconds = UInt32(clamping: Int64(issuedAt.timeIntervalSince1970))
        var block = [Self.version, UInt8(bits >> 8), UInt8(bits & 0xFF)]
        block += deviceHint + [UInt8](repeating: 0, count: Self.hintSize - deviceHint.count)
        block += [24, 16, 8, 0].map { UInt8(seconds >> $0 & 0xFF) }
        // Without random bytes an app that asks twice within a second, once in a state that is known to fail, could tell its verdict from
        // equal codes.
        block += SystemRandom.bytes(Self.size - block.count)
        // Each code is a single, different block, so the plain block cipher is all that is needed.
        try AES.permute(&block, key: key)
        return Base32.encode(block)
    }
}
