import Foundation

/// Finds the sealed chunks in a stream, however its bytes are split (draft-ietf-ohai-chunked-ohttp, sections 4 and 5).
///
/// It holds one incomplete chunk and the bytes that were appended last.
struct ChunkReader {
    private var buffer: [UInt8] = []
    private var offset = 0
    private var isFinal = false
    private let maximumSealedSize: Int

    /// Makes a reader; `maximumChunkSize` counts the content in bytes, without the tag.
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

    /// Takes the first `count` bytes, which precede the chunks; nil until all have arrived.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard buffer.count - offset >= count else { return nil }
        defer { offset += count }
        return buffer[offset..<offset + count]
    }

    /// Returns the next chunk other than the final one; nil when more bytes are needed.
    ///
    /// Its length is checked against the limit before the reader waits for its bytes.
    mutating func next() throws(OHTTPError) -> ArraySlice<UInt8>? {
        var start = offset
        if !isFinal {
            guard let length = VariableLengthInteger.read(buffer.span, at: &start) else { return nil }
            if length > 0 {
                guard length <= UInt64(maximumSealedSize) else { throw tooLarge }
                // The draft refuses an empty chunk like one that cannot be opened (section 6); a stream of them would never end.
                guard length > UInt64(SymmetricSuite.AEAD.tagSize) else {
                    throw OHTTPError(.malformedChunk, "a chunk before the final one has no content")
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

    /// Returns the final chunk: all remaining bytes after the end of the stream.
    func final() throws(OHTTPError) -> ArraySlice<UInt8> {
        guard isFinal, buffer.count - offset >= SymmetricSuite.AEAD.tagSize else {
            throw OHTTPError(.truncatedChunks, "the message ended without its final chunk, so it is incomplete")
        }
        return buffer[offset...]
    }

    private var tooLarge: OHTTPError {
        OHTTPError(.limitExceeded, "a chunk has more than \(maximumSealedSize - SymmetricSuite.AEAD.tagSize) bytes; raise maximumChunkSize")
    }
}

/// The sizes of chunks, and how to seal them.
enum Chunk {
    /// The size of the content that is sealed into one chunk, in bytes; every receiver accepts it (draft-ietf-ohai-chunked-ohttp, section
    /// 3).
    static let size = 16 * 1024
    /// The authenticated data that marks the final chunk.
    static let finalMark = [UInt8]("final".utf8)

    /// Seals `bytes` in chunks after `prefix`; with `isFinal`, the rest becomes the final chunk.
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
