import Foundation

/// Finds the sealed chunks in a stream that comes in any split (draft-ietf-ohai-chunked-ohttp sections 3 and 4).
///
/// It holds one chunk that is not complete, and what was appended last.
struct ChunkReader {
    private var buffer: [UInt8] = []
    private var offset = 0
    private var isFinal = false
    private let maximumSealedSize: Int

    /// A reader; `maximumChunkSize` counts bytes of content, without the tag.
    init(maximumChunkSize: Int) {
        maximumSealedSize = max(maximumChunkSize, 1) + SymmetricSuite.AEAD.tagSize
    }

    mutating func append(_ bytes: some DataProtocol) {
        if offset > 0 {
            buffer.removeSubrange(..<offset)
            offset = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The first `count` bytes, once they are there: what precedes the chunks.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard buffer.count - offset >= count else { return nil }
        defer { offset += count }
        return buffer[offset..<offset + count]
    }

    /// The next chunk that is not the final one, or nil when more bytes are needed.
    ///
    /// Its length is held against the limit before anything is kept for it.
    mutating func next() throws(OHTTPError) -> ArraySlice<UInt8>? {
        var start = offset
        if !isFinal {
            guard let length = VariableLengthInteger.read(buffer.span, at: &start) else { return nil }
            if length > 0 {
                guard length <= UInt64(maximumSealedSize) else { throw tooLarge }
                guard length >= UInt64(SymmetricSuite.AEAD.tagSize) else {
                    throw OHTTPError(.malformedChunk, "a chunk that is shorter than what authenticates it")
                }
                let end = start + Int(length)
                guard end <= buffer.count else { return nil }
                offset = end
                return buffer[start..<end]
            }
            isFinal = true
            offset = start
        }
        guard buffer.count - offset <= maximumSealedSize else { throw tooLarge }
        return nil
    }

    /// The final chunk, which is all that is left when the stream has ended.
    func final() throws(OHTTPError) -> ArraySlice<UInt8> {
        guard isFinal, buffer.count - offset >= SymmetricSuite.AEAD.tagSize else {
            throw OHTTPError(.truncatedChunks, "the message ended without its final chunk; what came before it must not be taken for all")
        }
        return buffer[offset...]
    }

    private var tooLarge: OHTTPError {
        OHTTPError(.limitExceeded, "a chunk of more than \(maximumSealedSize - SymmetricSuite.AEAD.tagSize) bytes; raise maximumChunkSize")
    }
}

/// What the sizes of chunks are about.
enum Chunk {
    /// The most content that is sealed into one chunk, which every receiver takes (draft-ietf-ohai-chunked-ohttp section 3).
    static let size = 16 * 1024
    /// What marks the final chunk.
    static let finalMark = [UInt8]("final".utf8)

    /// `bytes` in sealed chunks behind `prefix`; with `isFinal`, what is left over is the final chunk.
    static func seal<Bytes: DataProtocol>(
        _ bytes: Bytes, prefix: [UInt8], isFinal: Bool, _ seal: (Bytes.SubSequence, _ mark: [UInt8]) throws -> Data
    ) throws(OHTTPError) -> [UInt8] {
        let overhead = SymmetricSuite.AEAD.tagSize + 4
        var out: [UInt8] = []
        out.reserveCapacity(prefix.count + bytes.count + (bytes.count / size + 2) * overhead)
        out += prefix
        var rest = bytes[...]
        do {
            while isFinal ? rest.count > size : !rest.isEmpty {
                let sealed = try seal(rest.prefix(size), [])
                VariableLengthInteger.append(sealed.count, to: &out)
                out.append(contentsOf: sealed)
                rest = rest.dropFirst(size)
            }
            if isFinal {
                out.append(0)
                out.append(contentsOf: try seal(rest, finalMark))
            }
        } catch {
            throw .encapsulationFailed(error)
        }
        return out
    }
}
