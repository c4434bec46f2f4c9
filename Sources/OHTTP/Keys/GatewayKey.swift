public import Foundation

/// A private key of a gateway and the configuration that clients seal with.
public struct GatewayKey: Sendable {
    /// What clients are told.
    public let configuration: KeyConfiguration

    let privateKey: HPKEPrivateKey

    /// Makes a new key.
    ///
    /// - Parameters:
    ///   - id: names the key; no two keys of a gateway may share it.
    ///   - kem: the key encapsulation mechanism.
    ///   - suites: what to accept, the best first.
    /// - Throws: `malformedKeyConfiguration` when no suite is given.
    public init(
        id: UInt8, kem: KeyConfiguration.KEM = .x25519, suites: [SymmetricSuite] = [.aes128GCM, .aes256GCM, .chaCha20Poly1305]
    ) throws(OHTTPError) {
        try self.init(id: id, privateKey: try HPKEPrivateKey(kem), suites: suites)
    }

    /// A key that was made before.
    ///
    /// - Parameters:
    ///   - id: names the key.
    ///   - kem: the key encapsulation mechanism.
    ///   - privateKey: 32 bytes, for X-Wing its seed.
    ///   - suites: what to accept, the best first.
    /// - Throws: `malformedKey`, or `malformedKeyConfiguration` when no suite is given.
    public init(id: UInt8, kem: KeyConfiguration.KEM, privateKey: [UInt8], suites: [SymmetricSuite]) throws(OHTTPError) {
        try self.init(id: id, privateKey: try HPKEPrivateKey(kem, privateKey), suites: suites)
    }

    /// Reads what `serialized()` wrote.
    ///
    /// - Parameter bytes: one key and nothing else.
    /// - Throws: `malformedKey` when it is not one, or when the private key is not that of the configuration.
    public init(serialized bytes: some DataProtocol) throws(OHTTPError) {
        let bytes = [UInt8](bytes)
        guard bytes.count > Self.privateKeySize else {
            throw OHTTPError(.malformedKey, "a gateway key is a key configuration followed by 32 bytes of private key")
        }
        let configuration = try KeyConfiguration(decoding: bytes.dropLast(Self.privateKeySize))
        let privateKey = try HPKEPrivateKey(configuration.kem, [UInt8](bytes.suffix(Self.privateKeySize)))
        guard privateKey.publicKey == configuration.publicKey else {
            throw OHTTPError(.malformedKey, "the private key does not belong to the configuration; restore the key or make a new one")
        }
        self.configuration = configuration
        self.privateKey = privateKey
    }

    /// The key for a file that nobody else can read: the configuration (RFC 9458, section 3.1) and 32 bytes of private key.
    public func serialized() -> [UInt8] {
        configuration.encoded() + privateKey.rawRepresentation
    }

    private static let privateKeySize = 32

    private init(id: UInt8, privateKey: HPKEPrivateKey, suites: [SymmetricSuite]) throws(OHTTPError) {
        configuration = try KeyConfiguration(id: id, kem: privateKey.kem, publicKey: privateKey.publicKey, suites: suites)
        self.privateKey = privateKey
    }
}
