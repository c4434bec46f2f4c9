public import Foundation

/// The key configurations of a gateway, `application/ohttp-keys` (RFC 9458, section 3.2).
public struct KeyConfigurationList: Sendable, Hashable {
    /// The most bytes that a list or a single configuration may have.
    public static let maximumSize = 64 * 1024

    /// The configurations that can be used here, in the gateway's order.
    ///
    /// Those with another KEM, or without a known cipher, are not among them.
    public let configurations: [KeyConfiguration]

    /// A list to publish.
    ///
    /// - Parameter configurations: in the order in which clients shall prefer them.
    public init(_ configurations: [KeyConfiguration]) {
        self.configurations = configurations
    }

    /// Reads a list.
    ///
    /// What is not known here is skipped; a list in which anything is malformed is refused whole.
    ///
    /// - Parameter bytes: the content of an `application/ohttp-keys` resource, 64 KiB at most.
    /// - Throws: `malformedKeyConfiguration`, or `limitExceeded` when there are more bytes.
    public init(decoding bytes: some DataProtocol) throws(OHTTPError) {
        guard bytes.count <= Self.maximumSize else { throw Self.tooLarge }
        var rest = [UInt8](bytes)[...]
        guard !rest.isEmpty else { throw OHTTPError(.malformedKeyConfiguration, "the list of key configurations is empty") }
        var found: [KeyConfiguration] = []
        while !rest.isEmpty {
            guard let length = rest.popUInt16(), rest.count >= Int(length) else {
                throw OHTTPError(
                    .malformedKeyConfiguration,
                    "the list of key configurations ends inside of one; a single configuration without a length is read as such")
            }
            if let configuration = try KeyConfiguration.read(rest.prefix(Int(length))) { found.append(configuration) }
            rest = rest.dropFirst(Int(length))
        }
        configurations = found
    }

    /// The list as RFC 9458, section 3.2 writes it.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        for configuration in configurations {
            let encoded = configuration.encoded()
            // An encoded configuration has at most 1,221 + 4 × 16,383 bytes; what does not fit a list is not published.
            guard let length = UInt16(exactly: encoded.count) else { continue }
            bytes.append(bigEndian: length)
            bytes += encoded
        }
        return bytes
    }

    /// The configuration to use: the first, which the gateway likes best, among those with an accepted KEM.
    ///
    /// - Parameter kems: the KEMs to accept; `[.xWing]` refuses gateways that a quantum computer could read.
    /// - Returns: the first one that fits.
    /// - Throws: `unsupportedKeyConfiguration` when there is none.
    public func preferred(among kems: Set<KeyConfiguration.KEM> = Set(KeyConfiguration.KEM.allCases)) throws(OHTTPError) -> KeyConfiguration
    {
        guard let configuration = configurations.first(where: { kems.contains($0.kem) }) else {
            throw OHTTPError(.unsupportedKeyConfiguration, "no key configuration of the list has an accepted KEM and a known cipher")
        }
        return configuration
    }

    static var tooLarge: OHTTPError {
        OHTTPError(.limitExceeded, "key configurations of more than \(maximumSize) bytes")
    }
}
