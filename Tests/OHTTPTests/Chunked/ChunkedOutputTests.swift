import OHTTP
import Testing

@Suite("The chunks of a message", .timeLimit(.minutes(5)))
struct ChunkedOutputTests {
    private let key: GatewayKey

    init() throws { key = try GatewayKey(id: 1) }

    private func output() throws -> ChunkedOutput<ChunkedRequestSealer> {
        let request = try key.configuration.chunkedRequest()
        return ChunkedOutput(request.sealer)
    }

    /// What the gateway reads, without the zeros at its end.
    private func opened(_ sealed: [UInt8]) throws -> [UInt8] {
        var opener = try GatewayKeyring([key]).chunkedRequestOpener()
        opener.append(sealed)
        var bytes: [UInt8] = []
        while let part = try opener.next() { bytes += part }
        bytes += try opener.finish()
        return Array(bytes[..<(bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0)])
    }

    /// Seals the end of a message.
    private func end(_ output: inout ChunkedOutput<ChunkedRequestSealer>, with bytes: [UInt8]) throws -> [UInt8] {
        output.end(bytes)
        var sealed: [UInt8] = []
        while let piece = try output.next() { sealed += piece }
        let more = try output.next()
        #expect(more == nil)
        return sealed
    }

    @Test("parts, pauses and the end arrive in order, and after the last piece there is none")
    func parts() throws {
        var output = try output()
        var sealed = try output.add([1, 2])
        let (sent, held) = (sealed, output.holding)
        #expect(sent.isEmpty && held != nil)
        sealed += try output.flush()
        let left = output.holding
        #expect(!sealed.isEmpty && left == nil)
        let long = [UInt8](repeating: 3, count: 40_000)
        sealed += try output.add(long)
        sealed += try end(&output, with: [4])
        #expect(try opened(sealed) == [1, 2] + long + [4])
    }

    @Test("another message takes the place of one of which nothing has gone out, and of no other")
    func restart() throws {
        var output = try output()
        _ = try output.add([1])
        let isInTime = output.restart()
        #expect(isInTime)
        var sealed = try output.add([2])
        sealed += try output.flush()
        let isTooLate = !output.restart()
        #expect(isTooLate)
        sealed += try end(&output, with: [])
        #expect(try opened(sealed) == [2])
    }

    @Test("a whole message is sealed once")
    func whole() throws {
        var output = try output()
        let sealed = try output.whole([1, 2, 3])
        #expect(try opened(sealed ?? []) == [1, 2, 3])
        let again = try output.whole([1, 2, 3])
        #expect(again == nil)
    }
}
