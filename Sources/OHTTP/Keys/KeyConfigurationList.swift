public import Foundation

/// The key configurations of a gateway, `application/ohttp-keys` (RFC 9458, section 3.2).
public struct KeyConfigurationList: Sendable, Hashable {
    /// The size limit of a list or a single configuration, in bytes.
    public static let maximumSize = 64 * 1024

    /// The configurations that this library can use, in the gateway's order.
    ///
    /// Configurations with another KEM, or without a known cipher, are left out.
    public let configurations: [KeyConfiguration]

    /// Makes a list to publish.
    ///
    /// - Parameter configurations: The configurations, in the order in which clients should prefer them.
    public init(_ configurations: [KeyConfiguration]) {
        self.configurations = configurations
    }

    /// Reads a list.
    ///
    /// Configurations that this library cannot use are skipped. If any is malformed, the whole list is refused.
    ///
    /// - Parameter bytes: The content of an `application/ohttp-keys` resource, at most 64 KiB.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration`, or `limitExceeded` when the list is larger than that.
    public init(decoding bytes: some DataProtocol) throws(OHTTPError) {
        guard bytes.count <= Self.maximumSize else { throw Self.tooLarge }
        var rest = [UInt8](bytes)[...]
        guard !rest.isEmpty else { throw OHTTPError(.malformedKeyConfiguration, "the list of key configurations is empty") }
        var found: [KeyConfiguration] = []
        while !rest.isEmpty {
            guard let length = rest.popUInt16(), rest.count >= Int(length) else {
                throw OHTTPError(
                    .malformedKeyConfiguration,
                    "the list of key configurations ends within one; read a single configuration without a length as a KeyConfiguration")
            }
            if let configuration = try KeyConfiguration.read(rest.prefix(Int(length))) { found.append(configuration) }
            rest = rest.dropFirst(Int(length))
        }
        configurations = found
    }

    /// Reads what a gateway publishes: a list, or a single configuration without the length that precedes it in a list.
    ///
    /// RFC 9458, section 3.2 defines the list, so it is tried first. Some gateways publish a single configuration.
    ///
    /// - Parameter bytes: The content of an `application/ohttp-keys` resource, at most 64 KiB.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration` when the bytes are neither, or `limitExceeded`.
    public init(published bytes: some DataProtocol) throws(OHTTPError) {
        self = try Self.reading(published: bytes).list
    }

    private static func reading(published bytes: some DataProtocol) throws(OHTTPError) -> (list: KeyConfigurationList, isSingle: Bool) {
        do {
            return (try KeyConfigurationList(decoding: bytes), false)
        } catch {
            guard error.code == .malformedKeyConfiguration, let single = try? KeyConfiguration(decoding: bytes) else { throw error }
            return (KeyConfigurationList([single]), true)
        }
    }

    /// Checks what a gateway publishes, and returns it as the list that a signed configuration must contain.
    ///
    /// A list is returned byte for byte: it may contain configurations that only other releases can use.
    ///
    /// - Parameter bytes: A list, or a single configuration; at most 64 KiB.
    /// - Returns: The encoding of a list in which at least one configuration is usable.
    /// - Throws: ``OHTTPError`` with code `malformedKeyConfiguration`, `unsupportedKeyConfiguration` when this library can use none of the
    ///   configurations, or `limitExceeded`.
    public static func checked(published bytes: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        let (list, isSingle) = try reading(published: bytes)
        _ = try list.preferred()
        return isSingle ? list.encoded() : [UInt8](bytes)
    }

    /// The list in the encoding of RFC 9458, section 3.2.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for configuration in configurations {
            let encoded = configuration.encoded()
            // A configuration can have up to 1,221 + 4 × 16,383 bytes; one whose length does not fit into two bytes is left out.
            guard let length = UInt16(exactly: encoded.count) else { continue }
            bytes.append(bigEndian: length)
            bytes += encoded
        }
        return bytes
    }

    /// The configuration to use: the first one with an accepted KEM, because the list is in the gateway's order of preference.
    ///
    /// - Parameter kems: The KEMs to accept; with `[.xWing]`, gateways whose traffic a quantum computer could read are refused.
    /// - Returns: The first configuration with an accepted KEM.
    /// - Throws: ``OHTTPError`` with code `unsupportedKeyConfiguration` when the list has none.
    public func preferred(among kems: Set<KeyConfiguration.KEM> = Set(KeyConfiguration.KEM.allCases)) throws(OHTTPError) -> KeyConfiguration
    {
        guard let configuration = configurations.first(where: { kems.contains($0.kem) }) else {
            throw OHTTPError(.unsupportedKeyConfiguration, "no key configuration in the list has an accepted KEM and a known cipher")
        }
        return configuration
    }

    static var tooLarge: OHTTPError {
        OHTTPError(.limitExceeded, "the key configurations have more than \(maximumSize) bytes")
    }
}
