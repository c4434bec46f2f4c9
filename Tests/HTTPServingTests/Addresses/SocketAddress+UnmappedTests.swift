import NIOCore
import Testing

@testable import HTTPServing

@Suite struct SocketAddressUnmappedTests {
    @Test(
        "An IPv4-mapped IPv6 address is the IPv4 address that it stands for; another address stays as it is",
        arguments: [
            ("::ffff:203.0.113.5", "203.0.113.5"), ("203.0.113.5", "203.0.113.5"), ("2001:db8::1", "2001:db8::1"), ("::1", "::1"),
            ("::203.0.113.5", "::203.0.113.5"),
        ])
    func unmapped(text: String, expected: String) throws {
        let address = try SocketAddress(ipAddress: text, port: 4_711)
        #expect(address.unmapped.ipAddress == expected && address.unmapped.port == 4_711)
    }
}
