public import Foundation

/// The public key of a gateway and its algorithms, with which clients seal requests (RFC 9458, section 3.1).
public struct KeyConfiguration: Sendable, Hashable {
    /// The identifier by which the gateway finds the key.
    public let id: UInt8
    /// The key encapsulation mechanism that the public key belongs to.
    public let kem: KEM
    /// The public key: 32 bytes for X25519, 65 for P-256, 1,216 for X-Wing.
    public let publicKey: [UInt8]
    /// The symmetric algorithms that the gateway accepts and this library knows, in the gateway's order; never empty.
    public let suites: [SymmetricSuite]

    let key: HPKEPublicKey

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - id: The identifier by which the gateway finds the key.
    ///   - kem: The key encapsulation mechanism.
    ///   - publicKey: The public key: 32 bytes for X25519, 65 for P-256 (uncompressed), 1,216 for X-Wing.
    ///   - suites: The suites that the gateway accepts, the best first.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration` when the key is not valid for its KEM, or unless 1 to 16,383 suites
    ///   are given.
    public init(id: UInt8, kem: KEM, publicKey: [UInt8], suites: [SymmetricSuite]) throws(OHTTPError) {
        guard !suites.isEmpty, suites.count <= 16_383 else {
            throw OHTTPError(.malformedKeyConfiguration, "a key configuration must have 1 to 16,383 symmetric suites")
        }
        self.id = id
        self.kem = kem
        self.publicKey = publicKey
        self.suites = suites
        key = try HPKEPublicKey(kem, publicKey)
    }

    /// Reads a single configuration without the length that precedes it in a list; some gateways publish this form.
    ///
    /// - Parameter bytes: The configuration and nothing else.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration`, `unsupportedKeyConfiguration` when this library does not know its
    ///   KEM or any of its suites, or `limitExceeded` when it has more than 64 KiB.
    public init(decoding bytes: some DataProtocol) throws(OHTTPError) {
        guard bytes.count <= KeyConfigurationList.maximumSize else { throw KeyConfigurationList.tooLarge }
        guard let configuration = try Self.read([UInt8](bytes)[...]) else {
            throw OHTTPError(
                .unsupportedKeyConfiguration,
                "the key configuration's KEM is not X25519, P-256 or X-Wing, or this release knows none of its ciphers")
        }
        self = configuration
    }

    /// The configuration in the encoding of RFC 9458, section 3.1, without a preceding length.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = [id]
        bytes.append(bigEndian: kem.rawValue)
        bytes += publicKey
        bytes.append(bigEndian: UInt16(suites.count * 4))
        for suite in suites {
            bytes.append(bigEndian: suite.kdf.rawValue)
            bytes.append(bigEndian: suite.aead.rawValue)
        }
        return bytes
    }

    /// Reads a configuration; nil when it appears well-formed but this library cannot use it.
    static func read(_ entry: ArraySlice<UInt8>) throws(OHTTPError) -> KeyConfiguration? {
        var rest = entry
        guard let id = rest.popFirst(), let kemID = rest.popUInt16() else { throw malformed("it ends within its identifiers") }
        // The length of the public key depends on the KEM, so the rest cannot be read.
        guard let kem = KEM(rawValue: kemID) else { return nil }
        guard rest.count >= kem.publicKeySize else { throw malformed("it ends within its public key") }
        let publicKey = [UInt8](rest.prefix(kem.publicKeySize))
        rest = rest.dropFirst(kem.publicKeySize)
        guard let length = rest.popUInt16(), length > 0, length.isMultiple(of: 4), rest.count == Int(length) else {
            throw malformed("the length of its symmetric algorithms is zero, not a multiple of 4, or not the number of bytes that follow")
        }
        var suites: [SymmetricSuite] = []
        while let kdf = rest.popUInt16(), let aead = rest.popUInt16() {
            guard let kdf = SymmetricSuite.KDF(rawValue: kdf), let aead = SymmetricSuite.AEAD(rawValue: aead) else { continue }
            suites.append(SymmetricSuite(kdf: kdf, aead: aead))
        }
        guard !suites.isEmpty else {
            _ = try HPKEPublicKey(kem, publicKey)
            return nil
        }
        return try KeyConfiguration(id: id, kem: kem, publicKey: publicKey, suites: suites)
    }

    private static func malformed(_ what: String) -> OHTTPError {
        OHTTPError(.malformedKeyConfiguration, "a key configuration cannot be read: \(what) (RFC 9458, section 3.1)")
    }

    /// Whether both have the same encoding.
    public static func == (left: KeyConfiguration, right: KeyConfiguration) -> Bool {
        left.id == right.id && left.kem == right.kem && left.publicKey == right.publicKey && left.suites == right.suites
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(kem)
        hasher.combine(publicKey)
        hasher.combine(suites)
    }
}

extension ArraySlice<UInt8> {
    /// Removes two bytes from the front and returns them as a big-endian integer; returns nil and removes nothing when fewer remain.
    mutating func popUInt16() -> UInt16? {
        guard count >= 2 else { return nil }
        defer { removeFirst(2) }
        return UInt16(self[startIndex]) << 8 | UInt16(self[startIndex + 1])
    }
}

extension [UInt8] {
    mutating func append(bigEndian value: UInt16) {
        append(UInt8(value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }
}
