internal import Glibc

/// Tells addresses of the public Internet from others (the registries of RFC 6890).
enum PublicAddress {
    /// Whether an address is public; false if it is malformed.
    ///
    /// - Parameter text: An IPv4 address, or an IPv6 address without brackets and zone.
    /// - Returns: Whether it is public.
    static func contains(_ text: UnsafePointer<CChar>) -> Bool {
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 { return contains(v4) }
        var v6 = in6_addr()
        return inet_pton(AF_INET6, text, &v6) == 1 && contains(v6)
    }

    /// Whether a socket's address is public; false for a family other than IPv4 and IPv6.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - count: Its size in bytes.
    /// - Returns: Whether it is public.
    static func contains(_ address: UnsafeRawPointer, count: Int) -> Bool {
        guard count >= MemoryLayout<sa_family_t>.size else { return false }
        switch Int32(address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where count >= MemoryLayout<sockaddr_in>.size: return contains(address.loadUnaligned(as: sockaddr_in.self).sin_addr)
        case AF_INET6 where count >= MemoryLayout<sockaddr_in6>.size:
            return contains(address.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
        default: return false
        }
    }

    private static func contains(_ address: in_addr) -> Bool { contains(UInt32(bigEndian: address.s_addr)) }

    /// The networks of IPv4 that are not public: 0/8, 10/8, 100.64/10, 127/8, 169.254/16, 172.16/12, 192.0.0/24, 192.0.2/24, 192.88.99/24,
    /// 192.168/16, 198.18/15, 198.51.100/24, 203.0.113/24, and from 224/4 on.
    private static let privateNetworks: [(network: UInt32, length: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16), (0xAC10_0000, 12), (0xC000_0000, 24),
        (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16), (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 3),
    ]

    private static func contains(_ address: UInt32) -> Bool {
        !privateNetworks.contains { network, length in (address ^ network) >> (32 - length) == 0 }
    }

    private static func contains(_ address: in6_addr) -> Bool {
        let words = withUnsafeBytes(of: address) { bytes in
            (0..<4).map { UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)) }
        }
        // ::ffff:0:0/96 and 64:ff9b::/96 contain an address of IPv4.
        if words[0] == 0, words[1] == 0, words[2] == 0xFFFF { return contains(words[3]) }
        if words[0] == 0x0064_FF9B, words[1] == 0, words[2] == 0 { return contains(words[3]) }
        // Only 2000::/3 is given out. Of it, 2001::/23 (Teredo and others), 2001:db8::/32, 2002::/16 (6to4) and 3fff::/20 are special.
        guard words[0] >> 29 == 1 else { return false }
        return words[0] >> 9 != 0x2001_0000 >> 9 && words[0] != 0x2001_0DB8 && words[0] >> 16 != 0x2002
            && words[0] >> 12 != 0x3FFF_0000 >> 12
    }
}
