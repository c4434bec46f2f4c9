import Foundation
import HTTPTypes

/// What both encoders share: the order of the parts, and how many bytes the message has so far.
struct StreamWriter {
    enum Head { case informational, head }

    private var hasHead = false
    private var byteCount = 0

    /// A part in front of the content.
    mutating func write(_ part: Head, _ body: (inout MessageWriter) throws(OHTTPError) -> Void) throws(OHTTPError) -> [UInt8] {
        guard !hasHead else { throw OHTTPError(.unencodable, "the head was written already; after it come content and end") }
        var writer = MessageWriter(.indeterminateLength)
        try body(&writer)
        if part == .head { hasHead = true }
        return count(writer.bytes)
    }

    mutating func body(_ bytes: Data) throws(OHTTPError) -> [UInt8] {
        try expectHead()
        // A chunk of no bytes would end the content.
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
        guard hasHead else { throw OHTTPError(.unencodable, "the head comes first") }
    }

    private mutating func count(_ bytes: [UInt8]) -> [UInt8] {
        byteCount += bytes.count
        return bytes
    }
}
