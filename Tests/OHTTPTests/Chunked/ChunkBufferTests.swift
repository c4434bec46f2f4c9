import Testing

@testable import OHTTP

@Suite("Chunk buffer")
struct ChunkBufferTests {
    /// The pieces that the buffer returns after the end, in order.
    private func rest(_ buffer: inout ChunkBuffer, after last: [UInt8] = []) -> [[UInt8]] {
        buffer.end(last)
        var pieces: [[UInt8]] = []
        while true {
            let (bytes, isLast) = buffer.next()
            pieces.append([UInt8](bytes))
            if isLast { return pieces }
        }
    }

    /// The lengths of the chunks of a message that is added in parts of `size` bytes.
    private func lengths(of message: [UInt8], inPartsOf size: Int) -> [Int] {
        var buffer = ChunkBuffer()
        var pieces: [[UInt8]] = []
        var rest = message[...]
        while !rest.isEmpty {
            pieces.append([UInt8](buffer.add([UInt8](rest.prefix(size)))))
            rest = rest.dropFirst(size)
        }
        pieces += self.rest(&buffer)
        return pieces.flatMap { piece in
            stride(from: 0, to: piece.count, by: Chunk.size).map { min(Chunk.size, piece.count - $0) }
        }
    }

    @Test("A message becomes the same chunks, whatever the size of its parts", arguments: [1, 700, 16_383, 16_384, 16_385, 100_000])
    func split(size: Int) {
        let message = pattern(40_000)
        #expect(lengths(of: message, inPartsOf: size) == [16_384, 16_384, 8_192])
        #expect(lengths(of: Array(message.prefix(39_800)), inPartsOf: size) == [16_384, 16_384, 8_192])
    }

    @Test("A message that ends with a full chunk becomes the same chunks as a slightly shorter one")
    func full() {
        for length in [32_257, 32_767, 32_768] {
            #expect(lengths(of: pattern(length), inPartsOf: 16_384) == [16_384, 16_384], "\(length)")
        }
        for length in [0, 1, 1_023, 1_024] { #expect(lengths(of: pattern(length), inPartsOf: 100) == [1_024], "\(length)") }
    }

    @Test("The buffer returns the message followed by zeros")
    func content() {
        let message = pattern(50_000)
        var buffer = ChunkBuffer()
        var out = [UInt8](buffer.add(Array(message[..<20_000])))
        #expect(out.count == 16_384)
        out += buffer.flush()
        #expect(out.count == 20_000)
        out += buffer.add(Array(message[20_000..<49_000]))
        for piece in rest(&buffer, after: Array(message[49_000...])) { out += piece }
        #expect(out == message + [UInt8](repeating: 0, count: 51_200 - 50_000))
    }

    @Test("Long padding comes in pieces of at most 16 chunks, and only the last piece may end inside a chunk")
    func manyZeros() {
        var buffer = ChunkBuffer()
        let length = (256 << 20) + 1
        let part = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<256 { _ = buffer.add(part) }
        let pieces = rest(&buffer, after: [1])
        #expect(pieces.allSatisfy { $0.count <= 16 * Chunk.size })
        #expect(pieces.dropLast().allSatisfy { $0.count % Chunk.size == 0 })
        let sent = (256 << 20) - Chunk.size
        #expect(pieces.reduce(sent) { $0 + $1.count } == BinaryHTTPPadding.padme.paddedSize(of: length))
    }

    @Test("The number of the held bytes changes when some are sent, and is nil when none are held")
    func holding() {
        var buffer = ChunkBuffer()
        #expect(buffer.holding == nil)
        _ = buffer.add([1])
        let first = buffer.holding
        #expect(first != nil)
        _ = buffer.add([UInt8](repeating: 1, count: 100))
        #expect(buffer.holding == first)
        #expect(buffer.add([UInt8](repeating: 1, count: 20_000)).count == 16_384)
        #expect(buffer.holding != nil && buffer.holding != first)
        #expect(buffer.flush().count == 20_101 - 16_384)
        #expect(buffer.holding == nil && buffer.flush().isEmpty)
    }
}
