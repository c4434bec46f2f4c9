/// Valid and malformed headers of the PROXY protocol, version 2.
enum TestProxyHeader {
    static func bytes(command: UInt8 = 0x21, family: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, command, family, UInt8(content.count >> 8)]
            + [UInt8(content.count & 0xFF)] + content
    }

    /// The header that names an IPv4 client.
    static func client(_ address: (UInt8, UInt8, UInt8, UInt8)) -> [UInt8] {
        bytes(family: 0x11, [address.0, address.1, address.2, address.3, 127, 0, 0, 1, 0x30, 0x39, 0x01, 0xBB])
    }
}
