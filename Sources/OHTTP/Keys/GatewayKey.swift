public import Foundation

/// A private key of a gateway, with the configuration that clients seal requests with.
public struct GatewayKey: Sendable {
    /// The configuration to publish to clients.
    public let configuration: KeyConfiguration

    let privateKey: HPKEPrivateKey

    /// Makes a new key.
    ///
    /// - Parameters:
    ///   - id: The identifier of the key, unique within a gateway.
    ///   - kem: The key encapsulation mechanism.
    ///   - suites: The suites to accept, the best first.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration` unless 1 to 16,383 suites are given, or `malformedKey` when no key
    ///   could be made.
    public init(
        id: UInt8, kem: KeyConfiguration.KEM = .x25519, suites: [SymmetricSuite] = [.aes128GCM, .aes256GCM, .chaCha20Poly1305]
    ) throws(OHTTPError) {
        try self.init(id: id, privateKey: try HPKEPrivateKey(kem), suites: suites)
    }

    /// Restores a key from its private key.
    ///
    /// - Parameters:
    ///   - id: The identifier of the key, unique within a gateway.
    ///   - kem: The key encapsulation mechanism.
    ///   - privateKey: The 32 bytes of the private key; for X-Wing, its seed.
    ///   - suites: The suites to accept, the best first.
    /// - Throws: ``OHTTPError`` with code `malformedKey`, or `malformedKeyConfiguration` unless 1 to 16,383 suites are given.
    public init(id: UInt8, kem: KeyConfiguration.KEM, privateKey: [UInt8], suites: [SymmetricSuite]) throws(OHTTPError) {
        try self.init(id: id, privateKey: try HPKEPrivateKey(kem, privateKey), suites: suites)
    }

    /// Reads the output of `serialized()`.
    ///
    /// - Parameter bytes: One key and nothing else.
    /// - Throws: ``OHTTPError`` with code `malformedKey` when the private key is missing, invalid or not that of the configuration;
    ///   `malformedKeyConfiguration`, `unsupportedKeyConfiguration` or `limitExceeded` when the configuration cannot be read.
    public init(serialized bytes: some DataProtocol) throws(OHTTPError) {
        let bytes = [UInt8](bytes)
        guard bytes.count > Self.privateKeySize else {
            throw OHTTPError(.malformedKey, "a gateway key must be a key configuration followed by 32 bytes of private key")
        }
        let configuration = try KeyConfiguration(decoding: bytes.dropLast(Self.privateKeySize))
        let privateKey = try HPKEPrivateKey(configuration.kem, [UInt8](bytes.suffix(Self.privateKeySize)))
        guard privateKey.publicKey == configuration.publicKey else {
            throw OHTTPError(.malformedKey, "the private key does not belong to the key configuration; restore the key, or make a new one")
        }
        self.configuration = configuration
        self.privateKey = privateKey
    }

    /// The key to store in a private file: the configuration (RFC 9458, section 3.1), then the 32 bytes of the private key.
    public func serialized() -> [UInt8] {
        configuration.encoded() + privateKey.rawRepresentation
    }

    private static let privateKeySize = 32

    private init(id: UInt8, privateKey: HPKEPrivateKey, suites: [SymmetricSuite]) throws(OHTTPError) {
        configuration = try KeyConfiguration(id: id, kem: privateKey.kem, publicKey: privateKey.publicKey, suites: suites)
        self.privateKey = privateKey
    }
}
