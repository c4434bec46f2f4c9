public import Foundation

/// What a client needs to seal requests for a gateway (RFC 9458, section 3.1).
public struct KeyConfiguration: Sendable, Hashable {
    /// Names the key towards the gateway.
    public let id: UInt8
    /// The key encapsulation mechanism that the public key belongs to.
    public let kem: KEM
    /// The public key: 32 bytes for X25519, 65 for P-256, 1,216 for X-Wing.
    public let publicKey: [UInt8]
    /// The symmetric algorithms that the gateway accepts and this library knows, in the gateway's order; never empty.
    public let suites: [SymmetricSuite]

    let key: HPKEPublicKey

    /// A configuration.
    ///
    /// - Parameters:
    ///   - id: names the key towards the gateway.
    ///   - kem: the key encapsulation mechanism.
    ///   - publicKey: 32 bytes for X25519, 65 for P-256 (uncompressed), 1,216 for X-Wing.
    ///   - suites: what the gateway accepts, the best first.
    /// - Throws: `malformedKeyConfiguration` when the key is not one of its KEM or no suite is given.
    public init(id: UInt8, kem: KEM, publicKey: [UInt8], suites: [SymmetricSuite]) throws(OHTTPError) {
        guard !suites.isEmpty, suites.count <= 16_383 else {
            throw OHTTPError(.malformedKeyConfiguration, "a key configuration names one symmetric suite or more, 16,383 at most")
        }
        self.id = id
        self.kem = kem
        self.publicKey = publicKey
        self.suites = suites
        key = try HPKEPublicKey(kem, publicKey)
    }

    /// Reads a single configuration without the length that precedes it in a list; some gateways publish this form.
    ///
    /// - Parameter bytes: the configuration and nothing else.
    /// - Throws: `malformedKeyConfiguration`, or `unsupportedKeyConfiguration` when its KEM or all of its suites are unknown here.
    public init(decoding bytes: some DataProtocol) throws(OHTTPError) {
        guard bytes.count <= KeyConfigurationList.maximumSize else { throw KeyConfigurationList.tooLarge }
        guard let configuration = try Self.read([UInt8](bytes)[...]) else {
            throw OHTTPError(.unsupportedKeyConfiguration, "neither X25519, P-256 nor X-Wing, or no cipher that is known here")
        }
        self = configuration
    }

    /// The configuration as RFC 9458, section 3.1 writes it, without a length in front.
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

    /// A configuration, or nil when it is well-formed as far as can be told but cannot be used here.
    static func read(_ entry: ArraySlice<UInt8>) throws(OHTTPError) -> KeyConfiguration? {
        var rest = entry
        guard let id = rest.popFirst(), let kemID = rest.popUInt16() else { throw malformed("it ends inside of its identifiers") }
        // Without knowing the KEM nobody knows how long its keys are.
        guard let kem = KEM(rawValue: kemID) else { return nil }
        guard rest.count >= kem.publicKeySize else { throw malformed("it ends inside of its public key") }
        let publicKey = [UInt8](rest.prefix(kem.publicKeySize))
        rest = rest.dropFirst(kem.publicKeySize)
        guard let length = rest.popUInt16(), length > 0, length.isMultiple(of: 4), rest.count == Int(length) else {
            throw malformed("the length of its symmetric algorithms is not that of what follows, zero, or not a multiple of 4")
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
        OHTTPError(.malformedKeyConfiguration, "a key configuration cannot be read: \(what) (RFC 9458 section 3.1)")
    }

    /// Equal when all that is written of them is.
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
    /// Takes two bytes off the front as a big-endian integer; nil, and nothing taken, when there are fewer.
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
