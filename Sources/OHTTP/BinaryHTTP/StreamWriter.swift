import Foundation
import HTTPTypes

/// The common part of both encoders: checks the order of the parts and counts the bytes written so far.
struct StreamWriter {
    enum Head { case informational, head }

    private var hasHead = false
    private var byteCount = 0

    /// Writes a part that precedes the content.
    mutating func write(_ part: Head, _ body: (inout MessageWriter) throws(OHTTPError) -> Void) throws(OHTTPError) -> [UInt8] {
        guard !hasHead else { throw OHTTPError(.unencodable, "the head was already written; write content or the end") }
        var writer = MessageWriter(.indeterminateLength)
        try body(&writer)
        if part == .head { hasHead = true }
        return count(writer.bytes)
    }

    mutating func body(_ bytes: Data) throws(OHTTPError) -> [UInt8] {
        try expectHead()
        // An empty chunk would end the content.
        guard !bytes.isEmpty else { return [] }
        var writer = MessageWriter(.indeterminateLength)
        writer.reserve(body: bytes.count, padding: .none)
        writer.append(chunk: bytes)
        return count(writer.bytes)
    }

    mutating func end(_ trailers: HTTPFields, _ padding: BinaryHTTPPadding) throws(OHTTPError) -> [UInt8] {
        try expectHead()
        var writer = MessageWriter(.indeterminateLength)
        writer.append(chunk: Data())
        writer.append(trailers)
        return writer.padded(padding, before: byteCount)
    }

    private func expectHead() throws(OHTTPError) {
        guard hasHead else { throw OHTTPError(.unencodable, "the head was not written yet; write it first") }
    }

    private mutating func count(_ bytes: [UInt8]) -> [UInt8] {
        byteCount += bytes.count
        return bytes
    }
}
