import ApproovTesting
import Testing

@testable import APIClient

@Suite struct NetlinkMessageTests {
    private func contents(_ bytes: [UInt8]) throws -> [NetlinkMessage.Content] {
        try #require(NetlinkMessage.all(in: bytes)).map(\.content)
    }

    @Test("Links, routes, changes, ends and errors are read in their order")
    func kinds() throws {
        let bytes =
            NetlinkBytes.link(2, flags: 0x1043, sequence: 7) + NetlinkBytes.route(2, sequence: 7) + NetlinkBytes.end(7)
            + NetlinkBytes.message(NetlinkBytes.deletedLink, flags: 0, sequence: 9) + NetlinkBytes.failure(7, number: 1)
            + NetlinkBytes.end(7, number: -16) + NetlinkBytes.message(1, sequence: 0)
        #expect(
            try contents(bytes) == [
                .link(index: 2, flags: 0x1043), .route(.init(isDefault: true, interfaces: [2])), .done, .change, .failure(1), .failure(16),
                .other,
            ])
        let messages = try #require(NetlinkMessage.all(in: bytes))
        #expect(messages[0].isListed && !messages[3].isListed && messages[3].sequence == 9)
    }

    @Test("Only a usable route to everywhere is a default route")
    func defaultRoutes() throws {
        func isDefault(_ bytes: [UInt8]) throws -> Bool {
            guard case .route(let route)? = try contents(bytes).first else { return false }
            return route.isDefault && !route.interfaces.isEmpty
        }
        #expect(try isDefault(NetlinkBytes.route(2, sequence: 1)))
        // Tables of policy routing, as VPNs use them.
        #expect(try isDefault(NetlinkBytes.route(2, table: 0, sequence: 1)))
        #expect(try isDefault(NetlinkBytes.route(nil, hops: [3, 4], sequence: 1)))
        for other in [
            NetlinkBytes.route(2, length: 24, sequence: 1), NetlinkBytes.route(2, table: 255, sequence: 1),
            // "unreachable default", which systems have without IPv6.
            NetlinkBytes.route(2, kind: 7, sequence: 1), NetlinkBytes.route(2, flags: 1, sequence: 1),
            NetlinkBytes.route(2, flags: 16, sequence: 1), NetlinkBytes.route(nil, hops: [3], hopFlags: 16, sequence: 1),
            NetlinkBytes.route(nil, sequence: 1),
        ] { #expect(try !isDefault(other)) }
    }

    @Test("A part of a default route counts as one if it leads to public addresses")
    func wideRoutes() throws {
        func isDefault(_ bytes: [UInt8]) throws -> Bool {
            guard case .route(let route)? = try contents(bytes).first else { return false }
            return route.isDefault
        }
        for (length, to) in [(1, 128), (2, 192), (7, 198)] as [(UInt8, UInt8)] {
            #expect(try isDefault(NetlinkBytes.route(2, length: length, to: [to, 0, 0, 0], sequence: 1)))
        }
        #expect(try isDefault(NetlinkBytes.route(2, length: 3, to: [0x20] + [UInt8](repeating: 0, count: 15), family: 10, sequence: 1)))
        // The other half, multicast, private networks, and a route that cannot be used.
        for other in [
            NetlinkBytes.route(2, length: 1, to: [0, 0, 0, 0], sequence: 1),
            NetlinkBytes.route(2, length: 4, to: [224, 0, 0, 0], sequence: 1),
            NetlinkBytes.route(2, length: 7, to: [0xFC] + [UInt8](repeating: 0, count: 15), family: 10, sequence: 1),
            NetlinkBytes.route(2, length: 8, to: [198, 0, 0, 0], sequence: 1), NetlinkBytes.route(2, length: 1, sequence: 1),
            NetlinkBytes.route(2, length: 1, to: [128, 0, 0, 0], table: 255, sequence: 1),
            NetlinkBytes.route(2, length: 1, to: [128, 0, 0, 0], kind: 7, sequence: 1),
            NetlinkBytes.route(2, length: 1, to: [128, 0, 0, 0], flags: 16, sequence: 1),
        ] { #expect(try !isDefault(other)) }
    }

    @Test("A datagram that was cut at any byte is refused, unless it was cut between two messages")
    func truncated() {
        let parts = [
            NetlinkBytes.link(2, sequence: 1), NetlinkBytes.route(nil, hops: [3, 4], sequence: 1), NetlinkBytes.failure(1, number: 1),
        ]
        let whole = parts.flatMap(\.self)
        let ends = [0, parts[0].count, parts[0].count + parts[1].count, whole.count]
        for count in 0...whole.count {
            let messages = NetlinkMessage.all(in: Array(whole.prefix(count)))
            if let index = ends.firstIndex(of: count) {
                #expect(messages?.count == index)
            } else {
                #expect(messages == nil)
            }
        }
    }

    @Test("Lengths that lie are refused: shorter than a header, longer than the datagram, and in attributes")
    func lies() {
        for length: UInt32 in [0, 1, 15, 1_000, .max] {
            #expect(NetlinkMessage.all(in: NetlinkBytes.bytes(length) + [UInt8](repeating: 0, count: 28)) == nil)
        }
        let route = NetlinkBytes.route(2, hops: [3], sequence: 1)
        for offset in [28, 36, 44, 48] {
            for lie: UInt16 in [0, 1, 3, .max] {
                var bytes = route
                bytes.replaceSubrange(offset..<offset + 2, with: NetlinkBytes.bytes(lie))
                #expect(NetlinkMessage.all(in: bytes) == nil)
            }
        }
    }

    @Test("Bytes at random are read or refused, and never crash")
    func random() {
        var generator = SeededGenerator(seed: 14)
        let template = NetlinkBytes.link(2, sequence: 1) + NetlinkBytes.route(2, hops: [3, 4], sequence: 1) + NetlinkBytes.end(1)
        for _ in 0..<20_000 {
            var bytes = template
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
            _ = NetlinkMessage.all(in: bytes)
        }
    }
}
