internal import ApproovBase
internal import COpenSSL

/// The SHA-256 of a public key, encoded as the DER of its SubjectPublicKeyInfo (RFC 7469, section 2.4).
///
/// The initialisers validate the text, so that a malformed pin never reaches a handshake.
public struct Pin: Hashable, Sendable, CustomStringConvertible {
    // Four words instead of an array: no allocation, and equality is four comparisons.
    private let word0, word1, word2, word3: UInt64

    /// Reads "sha256/" and the base64 of 32 bytes, or the base64 alone.
    ///
    /// - Parameter text: The text.
    /// - Throws: ``PinningError`` with code `malformedPin` for another algorithm, another length, non-canonical base64, and for the hash of
    ///   no bytes.
    public init(_ text: String) throws { try self.init(text, allowingHashOfNothing: false) }

    /// Reads a pin that may be the hash of no bytes, which no key has.
    ///
    /// For pins that were stored before such hashes were refused: they must stay readable so that they can be replaced.
    /// - Parameters:
    ///   - text: The text.
    ///   - allowingHashOfNothing: Whether the hash of no bytes is accepted.
    /// - Throws: ``PinningError`` with code `malformedPin`.
    package init(_ text: String, allowingHashOfNothing: Bool) throws {
        guard let digest = PinText.digest(text) else {
            throw PinningError(
                .malformedPin,
                "\"\(LoggableText.quoted(text))\" is not a pin; write \"sha256/\" followed by the 44 base64 characters of a SHA-256;"
                    + " `approov pin -get` prints the pin of a server, certificate or key")
        }
        self = digest.withUnsafeBytes { Pin(digest: $0) }
        if !allowingHashOfNothing { try refuseHashOfNothing() }
    }

    /// Takes a SHA-256 that was computed elsewhere.
    ///
    /// - Parameter bytes: The digest of the SubjectPublicKeyInfo.
    /// - Throws: ``PinningError`` with code `malformedPin` unless the digest has 32 bytes, and for the hash of no bytes.
    public init(spkiSHA256 bytes: [UInt8]) throws {
        guard bytes.count == 32 else {
            throw PinningError(.malformedPin, "a pin must have 32 bytes, not \(bytes.count)")
        }
        self = bytes.withUnsafeBytes { Pin(digest: $0) }
        try refuseHashOfNothing()
    }

    private func refuseHashOfNothing() throws {
        guard self == PinText.hashOfNothing.withUnsafeBytes({ Pin(digest: $0) }) else { return }
        throw PinningError(
            .malformedPin,
            "\(self) is the SHA-256 of zero bytes and not the pin of any key; the command that printed it had no input;"
                + " `approov pin -get` prints the pin of a server, certificate or key")
    }

    /// Hashes the DER of a SubjectPublicKeyInfo.
    public init(spki der: [UInt8]) {
        self = der.withUnsafeBufferPointer { Pin(hashing: $0) }
    }

    /// Hashes the DER of a SubjectPublicKeyInfo without copying it.
    init(hashing der: UnsafeBufferPointer<UInt8>) {
        self = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { digest in
            SHA256(der.baseAddress, der.count, digest.bindMemory(to: UInt8.self).baseAddress)
            return Pin(digest: UnsafeRawBufferPointer(digest))
        }
    }

    private init(digest: UnsafeRawBufferPointer) {
        word0 = digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        word1 = digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        word2 = digest.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        word3 = digest.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }

    /// Reads the list of pins of a configuration.
    ///
    /// - Parameter texts: The pins as text.
    /// - Returns: At least one pin.
    /// - Throws: ``PinningError`` with code `noPins` for an empty list, `duplicatePin` when a pin occurs twice, or `malformedPin`.
    public static func list(_ texts: some Sequence<String>) throws -> Set<Pin> {
        var pins: Set<Pin> = []
        for text in texts {
            let pin = try Pin(text)
            guard pins.insert(pin).inserted else {
                throw PinningError(.duplicatePin, "the pin \(pin) is listed twice; replace the second entry with the pin of a backup key")
            }
        }
        guard !pins.isEmpty else {
            throw PinningError(.noPins, "the list of pins is empty and would match no server; give at least one pin")
        }
        return pins
    }

    /// The 32 bytes of the digest.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: (word0, word1, word2, word3)) { [UInt8]($0) }
    }

    /// "sha256/" and the base64 of the digest.
    public var description: String { PinText.text(bytes) }
}
