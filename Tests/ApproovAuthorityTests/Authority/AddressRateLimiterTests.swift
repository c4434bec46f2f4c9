import NIOCore
import Testing

@testable import ApproovAuthority

@Suite struct AddressRateLimiterTests {
    private func address(_ text: String) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: 1) }

    @Test("An address can use a minute's quota at once, and then one draw at a time as the minute passes")
    func bucket() throws {
        let limiter = AddressRateLimiter(perMinute: 6)
        let address = try address("192.0.2.1")
        for _ in 0..<6 { #expect(limiter.draw(for: address, now: .zero) == nil) }
        #expect(limiter.draw(for: address, now: .zero) == 10)
        #expect(limiter.draw(for: address, now: .seconds(9)) == 1)
        #expect(limiter.draw(for: address, now: .seconds(10)) == nil)
        #expect(limiter.draw(for: address, now: .seconds(10)) == 10)
    }

    @Test("Each address has its own quota; an IPv6 /64 shares one, and so do an IPv4 address and its mapped form")
    func keys() throws {
        let limiter = AddressRateLimiter(perMinute: 1)
        #expect(limiter.draw(for: try address("192.0.2.1"), now: .zero) == nil)
        #expect(limiter.draw(for: try address("192.0.2.2"), now: .zero) == nil)
        #expect(limiter.draw(for: try address("::ffff:192.0.2.1"), now: .zero) != nil)
        #expect(limiter.draw(for: try address("2001:db8::1"), now: .zero) == nil)
        #expect(limiter.draw(for: try address("2001:db8::ffff:1"), now: .zero) != nil)
        #expect(limiter.draw(for: try address("2001:db8:0:1::1"), now: .zero) == nil)
    }

    @Test("An address keeps its used quota when the table turns over")
    func rotation() throws {
        let limiter = AddressRateLimiter(perMinute: 60)
        let address = try address("192.0.2.1")
        for _ in 0..<60 { #expect(limiter.draw(for: address, now: .seconds(59)) == nil) }
        // The table turns over at 60 s, when the address has regained one draw.
        #expect(limiter.draw(for: address, now: .seconds(60)) == nil)
        #expect(limiter.draw(for: address, now: .seconds(60)) != nil)
    }

    @Test("The table of addresses has a limited size")
    func bounded() throws {
        let limiter = AddressRateLimiter(perMinute: 1, capacity: 100)
        for index in 0..<5_000 {
            _ = limiter.draw(for: try address("10.0.\(index / 256).\(index % 256)"), now: .milliseconds(index))
        }
        #expect(limiter.count <= 101)
    }

    @Test("A clock that goes back grants no further draws")
    func still() throws {
        let limiter = AddressRateLimiter(perMinute: 1)
        let address = try address("192.0.2.1")
        #expect(limiter.draw(for: address, now: .seconds(5)) == nil)
        for _ in 0..<10 { #expect(limiter.draw(for: address, now: .seconds(4)) != nil) }
    }
}
