import HTTPServing
import NIOCore
import Testing

@Suite struct AddressRangeTests {
    @Test(
        "A range contains only the addresses that begin with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.0.2.128/25", "192.0.2.128", true),
            ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false),
            ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false), ("::/0", "2001:db8::1", true),
            ("::1", "::1", true), ("::ffff:10.0.0.0/8", "10.2.3.4", true),
        ])
    func contains(range: String, address: String, isInside: Bool) throws {
        #expect(try AddressRange(range).contains(try SocketAddress(ipAddress: address, port: 1)) == isInside)
    }

    @Test("A peer without an IP address is in no range")
    func others() throws {
        #expect(try !AddressRange("0.0.0.0/0").contains(nil))
        #expect(try !AddressRange("::/0").contains(try SocketAddress(unixDomainSocketPath: "/tmp/a")))
    }

    @Test(
        "The error for a malformed range says how to write it",
        arguments: [
            ("", "write 10.0.0.0/8"), ("proxy.example.com", "write 10.0.0.0/8"), ("10.0.0.0/", "from 0 to 32"),
            ("10.0.0.0/33", "from 0 to 32"), ("10.0.0.0/-1", "from 0 to 32"), ("10.0.0.0/+8", "from 0 to 32"),
            ("10.0.0.0/8/8", "from 0 to 32"), ("::/129", "from 0 to 128"), ("10.0.0.1/8", "write the first address of the range"),
            ("2001:db8::1/64", "write the first address of the range"),
        ])
    func refusals(text: String, remedy: String) {
        let error = #expect(throws: AddressRange.Malformed.self) { try AddressRange(text) }
        #expect(error?.message.contains(remedy) == true)
    }
}
