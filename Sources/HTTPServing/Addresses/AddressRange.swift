internal import Foundation
package import NIOCore

/// A range of IP addresses in CIDR notation (RFC 4632, section 3.1), such as `10.0.0.0/8` or `2001:db8::/32`.
///
/// A single address is a range of one.
package struct AddressRange: Hashable, Sendable {
    /// The text is not a range.
    package struct Malformed: Error {
        /// The problem and its remedy.
        package let message: String
    }

    private let bytes: [UInt8]
    private let bits: Int

    /// Parses a range.
    ///
    /// - Parameter text: An IPv4 or IPv6 address, optionally with a slash and the number of leading bits that count; the other bits must be
    ///   zero.
    /// - Throws: `Malformed` when the text is not a range.
    package init(_ text: String) throws(Malformed) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = parts.first, let address = try? SocketAddress(ipAddress: String(host), port: 0),
            let bytes = Self.bytes(of: address)
        else { throw Malformed(message: "\(text) is not an address range: write 10.0.0.0/8 or 2001:db8::/32, for example") }
        var bits = bytes.count * 8
        if parts.count == 2 {
            guard let number = Int(parts[1]), (0...bits).contains(number), parts[1].allSatisfy(\.isNumber) else {
                throw Malformed(message: "\(text): the prefix length after the slash must be a number from 0 to \(bits)")
            }
            bits = number
        }
        guard Self.masked(bytes, bits) == bytes else {
            throw Malformed(message: "\(text) has bits set after the first \(bits); write the first address of the range")
        }
        self.bytes = bytes
        self.bits = bits
    }

    /// Parses the trusted proxies of a server.
    ///
    /// - Throws: `ListenerFailure` of kind `malformedProxy` for the first text that is not a range.
    package static func all(_ texts: [String]) throws(ListenerFailure) -> [AddressRange] {
        do {
            return try texts.map { (text) throws(Malformed) in try AddressRange(text) }
        } catch {
            throw .malformedProxy(error)
        }
    }

    /// Whether an address is in the range; an IPv4-mapped IPv6 address counts as IPv4.
    package func contains(_ address: SocketAddress?) -> Bool {
        guard let address, let other = Self.bytes(of: address), other.count == bytes.count else { return false }
        return Self.masked(other, bits) == bytes
    }

    private static func masked(_ bytes: [UInt8], _ bits: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let kept = min(max(bits - index * 8, 0), 8)
            return byte & ~UInt8(truncatingIfNeeded: 0xFF >> kept)
        }
    }

    private static func bytes(of address: SocketAddress) -> [UInt8]? {
        switch address.unmapped {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        case .unixDomainSocket: nil
        }
    }
}
