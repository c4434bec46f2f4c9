import Foundation
import Testing

@testable import OHTTP

@Suite("Malformed chunked messages")
struct BadChunkTests {
    private static let failed = OHTTPError(.decapsulationFailed, "")
    private static let rejected = OHTTPError(.responseRejected, "")
    private static let truncated = OHTTPError(.truncatedChunks, "")

    /// A request of two chunks and a final one, and the gateway's keyring.
    private func request() throws -> (keyring: GatewayKeyring, message: [UInt8]) {
        let key = try GatewayKey(id: 1, suites: [.aes128GCM])
        let chunked = try key.configuration.chunkedRequest()
        var sealer = chunked.sealer
        var message = try sealer.seal([1, 1])
        message += try sealer.seal([2, 2])
        message += try sealer.finish([3, 3])
        return (try GatewayKeyring([key]), message)
    }

    /// The content that the gateway opens with a new opener.
    private func open(_ keyring: GatewayKeyring, _ message: some DataProtocol) throws -> Data {
        var opener = keyring.chunkedRequestOpener()
        opener.append(message)
        var content = Data()
        while let part = try opener.next() { content += part }
        return try content + opener.finish()
    }

    @Test("A request cut off at any byte is refused")
    func truncatedRequest() throws {
        let (keyring, message) = try request()
        #expect(try open(keyring, message) == Data([1, 1, 2, 2, 3, 3]))
        for count in message.indices { #expect(throws: Self.failed) { try open(keyring, message.prefix(count)) } }
    }

    @Test("A request with any byte changed is refused")
    func flippedRequest() throws {
        let (keyring, message) = try request()
        for index in message.indices {
            var bad = message
            bad[index] ^= 0x01
            #expect(throws: Self.failed) { try open(keyring, bad) }
        }
    }

    @Test("Chunks that are missing, repeated, reordered or after the final one are refused")
    func rearranged() throws {
        let (keyring, message) = try request()
        let head = message[..<39]
        let first = message[39..<39 + 19]
        let second = message[58..<58 + 19]
        let final = message[77...]
        #expect(final.count == 1 + 18)
        #expect(try open(keyring, head + first + second + final).count == 6)
        for bad in [head + second + final, head + first + final, head + first + first + second + final, head + second + first + final] {
            #expect(throws: Self.failed) { try open(keyring, bad) }
        }
        for bad in [head + first + second + final + first, head + first + second + final + final, head + final + first + second] {
            #expect(throws: Self.failed) { try open(keyring, bad) }
        }
        // The final chunk is not accepted as another one, nor another one as the final chunk.
        #expect(throws: Self.failed) { try open(keyring, head + first + second + [18] + final.dropFirst()) }
        #expect(throws: Self.failed) { try open(keyring, head + first + [0] + second.dropFirst()) }
    }

    @Test("After an error the opener returns only that error, and no secret for a response")
    func sticky() throws {
        let (keyring, message) = try request()
        var bad = message
        bad[45] ^= 1
        var opener = keyring.chunkedRequestOpener()
        opener.append(bad)
        for _ in 0..<3 { #expect(throws: Self.failed) { _ = try opener.next() } }
        #expect(throws: Self.failed) { _ = try opener.finish() }
        let encapsulatedKey = opener.encapsulatedKey
        #expect(encapsulatedKey == nil)
        #expect(opener.takeSecret() == nil)
    }

    @Test("A request to an unknown key fails with the same error as a damaged one")
    func unknownKey() throws {
        let (_, message) = try request()
        let other = try GatewayKeyring([GatewayKey(id: 1, suites: [.aes128GCM])])
        #expect(throws: Self.failed) { try open(other, message) }
        let elsewhere = try GatewayKeyring([GatewayKey(id: 2, suites: [.aes128GCM])])
        #expect(throws: Self.failed) { try open(elsewhere, message) }
    }

    /// A response of two chunks and a final one, and the client that opens it; each call makes a new request.
    private func response() throws -> (message: [UInt8], client: Client) {
        var exchange = try ChunkedExchange()
        _ = try exchange.receive(try exchange.seal([1]))
        var sealer = try exchange.answer()
        var message = try sealer.seal([1, 1])
        message += try sealer.seal([2, 2])
        message += try sealer.finish([3, 3])
        return (message, Client(exchange))
    }

    /// A box, because tuples cannot hold noncopyable values.
    private final class Client {
        private var exchange: ChunkedExchange

        init(_ exchange: consuming ChunkedExchange) {
            self.exchange = exchange
        }

        func open(_ message: some DataProtocol) throws -> Data {
            let content = try exchange.receiveResponse(message)
            return try content + exchange.finishResponse()
        }
    }

    @Test("A response cut off at any byte is truncated, or rejected if only its last bytes are missing")
    func truncatedResponse() throws {
        let whole = try response()
        #expect(try whole.client.open(whole.message) == Data([1, 1, 2, 2, 3, 3]))
        for count in whole.message.indices {
            let cut = try response()
            #expect(
                performing: { try cut.client.open(cut.message.prefix(count)) },
                throws: { error in
                    error as? OHTTPError == (count > whole.message.count - 3 ? Self.rejected : Self.truncated)
                })
        }
    }

    @Test("A response with any byte changed is refused")
    func flippedResponse() throws {
        let count = try response().message.count
        for index in 0..<count {
            var bad = try response()
            bad.message[index] ^= 0x01
            let message = bad.message
            let client = bad.client
            #expect(throws: OHTTPError.self) { try client.open(message) }
        }
    }

    @Test("A response to another request is refused")
    func foreignResponse() throws {
        let mine = try response()
        let other = try response()
        #expect(throws: Self.rejected) { try mine.client.open(other.message) }
    }

    @Test("Bytes after the final chunk of a response are refused")
    func trailing() throws {
        let whole = try response()
        #expect(throws: Self.rejected) { try whole.client.open(whole.message + [0]) }
    }
}
