import HTTPServing
import NIOCore
import Testing

@Suite struct AddressGroupTests {
    private func group(_ address: String) throws -> AddressGroup { AddressGroup(try SocketAddress(ipAddress: address, port: 1)) }

    @Test("An IPv4 address, even mapped to IPv6, is its own group; an IPv6 address belongs to its /64")
    func groups() throws {
        #expect(try group("192.0.2.1") == group("::ffff:192.0.2.1"))
        #expect(try group("192.0.2.1") != group("192.0.2.2"))
        #expect(try group("2001:db8:0:1::1") == group("2001:db8:0:1:ffff::2"))
        #expect(try group("2001:db8:0:1::1") != group("2001:db8:0:2::1"))
        #expect(try group("::1") != group("0.0.0.1"))
    }
}
