import OHTTP
import Testing

@Suite("Chunked output", .timeLimit(.minutes(5)))
struct ChunkedOutputTests {
    private let key: GatewayKey

    init() throws { key = try GatewayKey(id: 1) }

    private func output() throws -> ChunkedOutput<ChunkedRequestSealer> {
        let request = try key.configuration.chunkedRequest()
        return ChunkedOutput(request.sealer)
    }

    /// The content that the gateway opens, without the zeros at its end.
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

    @Test("Parts, a flush and the end arrive in order, and nothing follows the last piece")
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

    @Test("A message can be restarted only until some of it was sent")
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

    @Test("A whole message is sealed only once")
    func whole() throws {
        var output = try output()
        let sealed = try output.whole([1, 2, 3])
        #expect(try opened(sealed ?? []) == [1, 2, 3])
        let again = try output.whole([1, 2, 3])
        #expect(again == nil)
    }
}
