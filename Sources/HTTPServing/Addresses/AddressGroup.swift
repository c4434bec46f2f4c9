internal import Foundation
package import NIOCore

/// One client, as limits by address count it: an IPv4 address, or the /64 of an IPv6 address.
///
/// A /64 is one network. A subscriber often has a wider prefix (RIPE-690 advises a /56 or a /48), so a limit per client slows an attacker
/// with such a prefix less. The limits in total still hold.
package struct AddressGroup: Hashable, Sendable {
    private let isIPv4: Bool
    private let prefix: UInt64

    /// Finds the group of an address; addresses that are neither IPv4 nor IPv6 share one group.
    package init(_ address: SocketAddress?) {
        switch address?.unmapped {
        case .v4(let address):
            isIPv4 = true
            prefix = UInt64(UInt32(bigEndian: address.address.sin_addr.s_addr))
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            isIPv4 = false
            prefix = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        default:
            isIPv4 = false
            prefix = 0
        }
    }
}
