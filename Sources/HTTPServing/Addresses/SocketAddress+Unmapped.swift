package import NIOCore

extension SocketAddress {
    private static let mappedPrefix = "::ffff:"

    /// The IPv4 address that an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) stands for; any other address as it is.
    package var unmapped: SocketAddress {
        guard case .v6 = self, let text = ipAddress, text.hasPrefix(Self.mappedPrefix), text.contains(".") else { return self }
        return (try? SocketAddress(ipAddress: String(text.dropFirst(Self.mappedPrefix.count)), port: port ?? 0)) ?? self
    }
}
