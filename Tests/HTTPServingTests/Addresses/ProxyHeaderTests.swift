import ApproovTesting
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServing

@Suite struct ProxyHeaderTests {
    private static let v4: [UInt8] = [203, 0, 113, 7, 192, 0, 2, 1, 0x30, 0x39, 0x01, 0xBB]
    private static let v6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7] + [UInt8](repeating: 0, count: 16) + [0x30, 0x39, 0x01, 0xBB]

    private func take(_ bytes: [UInt8]) throws -> (header: ProxyHeader?, rest: [UInt8]) {
        var buffer = ByteBuffer(bytes: bytes)
        let header = try ProxyHeader.take(from: &buffer)
        return (header, Array(buffer.readableBytesView))
    }

    @Test("The parser reads an IPv4 or IPv6 client, skips extensions, and leaves the bytes after the header")
    func addresses() throws {
        let four = try take(TestProxyHeader.bytes(family: 0x11, Self.v4 + [0x03, 0, 1, 9]) + [1, 2, 3])
        #expect(four.header == .client(try SocketAddress(ipAddress: "203.0.113.7", port: 12_345)))
        #expect(four.rest == [1, 2, 3])
        let six = try take(TestProxyHeader.bytes(family: 0x21, Self.v6))
        #expect(six.header == .client(try SocketAddress(ipAddress: "2001:db8::7", port: 12_345)))
        #expect(six.rest.isEmpty)
    }

    @Test(
        "A proxy's own connection, or a client without an IP address, counts as the proxy itself",
        arguments: [
            TestProxyHeader.bytes(command: 0x20, family: 0x00, []), TestProxyHeader.bytes(command: 0x20, family: 0x11, v4),
            TestProxyHeader.bytes(command: 0x20, family: 0xFF, [1]), TestProxyHeader.bytes(family: 0x00, [1, 2, 3]),
            TestProxyHeader.bytes(family: 0x31, [UInt8](repeating: 0, count: 216)),
        ])
    func local(bytes: [UInt8]) throws {
        let taken = try take(bytes + [7])
        #expect(taken.header == .proxyItself && taken.rest == [7])
    }

    @Test("The parser takes nothing from a header that is incomplete, wherever it is cut")
    func split() throws {
        let bytes = TestProxyHeader.bytes(family: 0x11, Self.v4)
        for count in 0..<bytes.count {
            let taken = try take(Array(bytes[..<count]))
            #expect(taken.header == nil && taken.rest.count == count)
        }
    }

    @Test(
        "A malformed header is refused",
        arguments: [
            Array("GET / HTTP/1.1\r\n".utf8), Array("PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n".utf8), [0x16, 3, 1],
            TestProxyHeader.bytes(command: 0x11, family: 0x11, v4), TestProxyHeader.bytes(command: 0x22, family: 0x11, v4),
            TestProxyHeader.bytes(family: 0x12, v4), TestProxyHeader.bytes(family: 0x41, v4),
            TestProxyHeader.bytes(family: 0x11, Array(v4.dropLast())), TestProxyHeader.bytes(family: 0x21, v4),
            TestProxyHeader.bytes(family: 0x31, v4), TestProxyHeader.bytes(family: 0x11, v4 + [UInt8](repeating: 0, count: 525)),
            TestProxyHeader.bytes(command: 0x20, family: 0x00, [UInt8](repeating: 0, count: 537)),
        ])
    func malformed(bytes: [UInt8]) {
        #expect(throws: ProxyHeader.Malformed.self) { try take(bytes) }
    }

    @Test("A wrong byte in the signature is refused as soon as it arrives")
    func early() {
        let bytes = TestProxyHeader.bytes(family: 0x11, Self.v4)
        for index in 0..<12 {
            var wrong = Array(bytes[...index])
            wrong[index] ^= 1
            #expect(throws: ProxyHeader.Malformed.self) { try take(wrong) }
        }
    }

    @Test("A damaged header never crashes the parser, which takes no bytes unless it returns a header")
    func fuzz() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            var bytes = TestProxyHeader.bytes(family: [0x11, 0x21, 0x31, 0x00].randomElement(using: &generator) ?? 0, Self.v6)
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0...bytes.count, using: &generator))
            var buffer = ByteBuffer(bytes: bytes)
            let header = try? ProxyHeader.take(from: &buffer)
            #expect(buffer.readableBytes <= bytes.count && (header != nil || buffer.readableBytes == bytes.count))
        }
    }

    @Test("The handler passes on the bytes after a header that comes in parts, and then removes itself", arguments: [1, 3, 16, 100])
    func handler(size: Int) throws {
        let seen = Shared<[SocketAddress?]>([])
        let channel = EmbeddedChannel(
            handler: ProxyProtocolHandler { address in
                seen.change { $0.append(address) }
                return true
            })
        let bytes = TestProxyHeader.bytes(family: 0x11, Self.v4) + Array("hello".utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
        }
        var rest = ""
        while let part = try channel.readInbound(as: ByteBuffer.self) { rest += String(buffer: part) }
        #expect(rest == "hello")
        #expect(seen.value == [try SocketAddress(ipAddress: "203.0.113.7", port: 12_345)])
        channel.embeddedEventLoop.run()
        #expect((try? channel.pipeline.syncOperations.handler(type: ProxyProtocolHandler.self)) == nil)
    }

    @Test("The handler closes a connection without a header, and passes nothing on")
    func handlerRefuses() throws {
        let channel = EmbeddedChannel(
            handler: ProxyProtocolHandler { _ in
                Issue.record("there is no header")
                return false
            })
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        #expect(!channel.isActive)
    }

    @Test("The handler passes on nothing of a connection that is refused after its header")
    func refused() throws {
        let channel = EmbeddedChannel(handler: ProxyProtocolHandler { _ in false })
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
        try channel.writeInbound(ByteBuffer(bytes: TestProxyHeader.bytes(family: 0x11, Self.v4) + Array("hello".utf8)))
        try channel.writeInbound(ByteBuffer(string: "again"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }
}
