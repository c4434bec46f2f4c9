import ApproovTesting
import Crypto
import Foundation
import Testing

@testable import OHTTP

/// A chunked request and its response, with the client and the gateway.
struct ChunkedExchange: ~Copyable {
    private var request: ChunkedRequestSealer?
    private var response: ChunkedResponseOpener?
    var gateway: ChunkedRequestOpener

    init(kem: KeyConfiguration.KEM = .x25519, suite: SymmetricSuite = .aes128GCM, maximumChunkSize: Int = Chunk.size) throws {
        let key = try GatewayKey(id: 7, kem: kem, suites: [suite])
        let keyring = try GatewayKeyring([key])
        let chunked = try key.configuration.chunkedRequest(maximumChunkSize: maximumChunkSize)
        request = .some(chunked.sealer)
        response = .some(chunked.response)
        gateway = keyring.chunkedRequestOpener(maximumChunkSize: maximumChunkSize)
    }

    private static var over: OHTTPError { OHTTPError(.finished, "the test has used this up") }

    mutating func seal(_ bytes: some DataProtocol) throws -> [UInt8] {
        guard let sealed = try request?.seal(bytes) else { throw Self.over }
        return sealed
    }

    mutating func finish(_ bytes: some DataProtocol = [UInt8]()) throws -> [UInt8] {
        guard let request = request.take() else { throw Self.over }
        return try request.finish(bytes)
    }

    /// Gives bytes to the gateway, and returns the content that it can open.
    mutating func receive(_ bytes: some DataProtocol) throws -> Data {
        gateway.append(bytes)
        var content = Data()
        while let part = try gateway.next() { content += part }
        return content
    }

    /// The sealer of the response; available once the gateway has opened the first chunk.
    mutating func answer() throws -> ChunkedResponseSealer {
        guard let sealer = gateway.takeResponse() else { throw OHTTPError(.finished, "there is no response to seal") }
        return sealer
    }

    /// Gives bytes to the client, and returns the content that it can open.
    mutating func receiveResponse(_ bytes: some DataProtocol) throws -> Data {
        response?.append(bytes)
        var content = Data()
        while let part = try response?.next() { content += part }
        return content
    }

    /// Tells the client that the response has ended, and returns the rest of the content.
    mutating func finishResponse() throws -> Data {
        guard let response = response.take() else { throw Self.over }
        return try response.finish()
    }
}

@Suite("Chunked messages")
struct ChunkedMessageTests {
    @Test("Chunked messages work in both directions with every KEM", arguments: KeyConfiguration.KEM.allCases)
    func everyKEM(kem: KeyConfiguration.KEM) throws {
        try roundTrip(ChunkedExchange(kem: kem))
    }

    @Test(
        "Chunked messages work in both directions with every cipher and key derivation", arguments: SymmetricSuite.AEAD.allCases,
        SymmetricSuite.KDF.allCases)
    func everySuite(aead: SymmetricSuite.AEAD, kdf: SymmetricSuite.KDF) throws {
        try roundTrip(ChunkedExchange(suite: SymmetricSuite(kdf: kdf, aead: aead)), nonceSize: aead == .aes128GCM ? 16 : 32)
    }

    private func roundTrip(_ exchange: consuming ChunkedExchange, nonceSize: Int = 16) throws {
        var exchange = exchange
        let question = pattern(40_000)
        var content = try exchange.receive(try exchange.seal(question.prefix(20_000)))
        content += try exchange.receive(try exchange.finish(question.dropFirst(20_000)))
        content += try exchange.gateway.finish()
        #expect(content == Data(question))

        var sealer = try exchange.answer()
        let answer = pattern(100_000, seed: 2)
        let first = try sealer.seal(answer.prefix(1))
        // The nonce of max(Nn, Nk) bytes, then the chunk's length, its one byte and its tag.
        #expect(first.count == nonceSize + 1 + 1 + 16)
        content = try exchange.receiveResponse(first)
        content += try exchange.receiveResponse(try sealer.seal(answer.dropFirst(1)))
        content += try exchange.receiveResponse(try sealer.finish())
        content += try exchange.finishResponse()
        #expect(content == Data(answer))
    }

    @Test("The gateway can open and answer the first chunk before the second one is sent")
    func streams() throws {
        var exchange = try ChunkedExchange()
        #expect(throws: OHTTPError.self) { _ = try exchange.answer() }
        var enc = exchange.gateway.encapsulatedKey
        #expect(enc == nil)
        var part = try exchange.receive(try exchange.seal([1, 2, 3]))
        #expect(part == Data([1, 2, 3]))
        enc = exchange.gateway.encapsulatedKey
        #expect(enc?.count == 32)
        let keyID = exchange.gateway.keyID
        #expect(keyID == 7)
        var sealer = try exchange.answer()
        #expect(throws: OHTTPError.self) { _ = try exchange.answer() }
        part = try exchange.receiveResponse(try sealer.seal([4, 5]))
        #expect(part == Data([4, 5]))
        part = try exchange.receive(try exchange.seal([6]))
        #expect(part == Data([6]))
    }

    @Test("Content is split into chunks of 16 KiB, and an empty part makes no chunk")
    func chunkSize() throws {
        var exchange = try ChunkedExchange()
        let header = try exchange.seal([UInt8]())
        #expect(header.count == 7 + 32)
        let nothing = try exchange.seal([UInt8]())
        #expect(nothing.isEmpty)
        let two = try exchange.seal(pattern(Chunk.size + 1))
        #expect(two.count == 4 + Chunk.size + 16 + 1 + 1 + 16)
        let last = try exchange.finish(pattern(Chunk.size))
        #expect(last.count == 1 + Chunk.size + 16)
    }

    @Test("The gateway opens a request whatever parts it is sealed and received in", arguments: 0..<20)
    func splits(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var exchange = try ChunkedExchange()
        let question = pattern(Int.random(in: 0...50_000, using: &random), seed: UInt64(seed))
        var wire = [UInt8]()
        var rest = question[...]
        while !rest.isEmpty, Bool.random(using: &random) {
            let part = rest.prefix(Int.random(in: 1...20_000, using: &random))
            wire += try exchange.seal(part)
            rest = rest.dropFirst(part.count)
        }
        wire += try exchange.finish(rest)
        var content = Data()
        var left = wire[...]
        while !left.isEmpty {
            let part = left.prefix(Int.random(in: 1...(Bool.random(using: &random) ? 3 : 30_000), using: &random))
            content += try exchange.receive(part)
            left = left.dropFirst(part.count)
        }
        content += try exchange.gateway.finish()
        #expect(content == Data(question))
    }

    @Test("A chunk above the size limit is refused at its length, before its bytes arrive")
    func largeChunk() throws {
        var exchange = try ChunkedExchange(maximumChunkSize: 100)
        var sealer = try answeredSealer(&exchange)
        let sealed = try sealer.seal(pattern(101))
        // The nonce and the two bytes of the length.
        #expect(code(as: OHTTPError.self) { _ = try exchange.receiveResponse(sealed.prefix(18)) } == .limitExceeded)
    }

    @Test("A final chunk above the size limit is refused before the message is finished")
    func largeFinalChunk() throws {
        var exchange = try ChunkedExchange(maximumChunkSize: 100)
        let sealer = try answeredSealer(&exchange)
        let sealed = try sealer.finish(pattern(101))
        #expect(code(as: OHTTPError.self) { _ = try exchange.receiveResponse(sealed) } == .limitExceeded)
    }

    @Test("The gateway and the client refuse a length of 2^62-1 at once")
    func lyingLength() throws {
        let huge = [UInt8](repeating: 0xff, count: 8)
        var exchange = try ChunkedExchange()
        _ = try exchange.receive(try exchange.seal([1]))
        // The length is not encrypted, so its error reveals nothing.
        #expect(code(as: OHTTPError.self) { _ = try exchange.receive(huge) } == .limitExceeded)
        #expect(code(as: OHTTPError.self) { _ = try exchange.receiveResponse(pattern(16) + huge) } == .limitExceeded)
    }

    @Test("A chunk that is shorter than its tag, or has nothing but its tag, is refused", arguments: [15, 16])
    func shortChunk(length: Int) throws {
        var exchange = try ChunkedExchange()
        let response = pattern(16) + [UInt8(length)] + pattern(length)
        #expect(code(as: OHTTPError.self) { _ = try exchange.receiveResponse(response) } == .malformedChunk)
    }

    @Test("An empty chunk before the final one is refused like one that cannot be opened, although its tag is right")
    func emptyChunk() throws {
        let key = try GatewayKey(id: 1)
        let header = try key.configuration.header(.aes128GCM)
        var sender = try FixedEphemeralKey.sender(to: key.configuration, header, .chunked, ephemeral: pattern(32))
        var message = header.bytes + sender.encapsulatedKey
        for part in [[1, 2], []] as [[UInt8]] {
            let sealed = try sender.seal(part)
            message += [UInt8(sealed.count)] + sealed
        }
        message += [0] + (try sender.seal([3], authenticating: Array("final".utf8)))
        var opener = try GatewayKeyring([key]).chunkedRequestOpener()
        opener.append(message)
        let first = try opener.next()
        #expect(first == Data([1, 2]))
        for _ in 0..<2 { #expect(code(as: OHTTPError.self) { _ = try opener.next() } == .decapsulationFailed) }
        #expect(code(as: OHTTPError.self) { _ = try opener.finish() } == .decapsulationFailed)
    }

    private func answeredSealer(_ exchange: inout ChunkedExchange) throws -> ChunkedResponseSealer {
        _ = try exchange.receive(try exchange.seal([1]))
        return try exchange.answer()
    }
}
