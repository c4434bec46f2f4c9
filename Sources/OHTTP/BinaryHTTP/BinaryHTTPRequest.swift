public import Foundation
public import HTTPTypes

/// A complete request in Binary HTTP, `message/bhttp` (RFC 9292).
public struct BinaryHTTPRequest: Sendable, Hashable {
    /// Method, scheme, authority, path and header fields.
    ///
    /// Field values are octets: read values that might not be UTF-8 with `withUnsafeBytesOfValue`. The path of a decoded message is visible
    /// ASCII, but need not begin with a slash: code that forwards the request must check that.
    public var head: HTTPRequest
    /// The content; in a decoded message a slice of it, so that its first index can differ from 0.
    public var body: Data
    /// The trailer fields.
    public var trailers: HTTPFields

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - head: Method, scheme, authority, path and header fields.
    ///   - body: The content.
    ///   - trailers: The trailer fields.
    public init(head: HTTPRequest, body: Data = Data(), trailers: HTTPFields = HTTPFields()) {
        self.head = head
        self.body = body
        self.trailers = trailers
    }

    /// Reads a message of known or indeterminate length.
    ///
    /// The content is not copied, unless an indeterminate-length message has it in several chunks. Field names may have capitals, although
    /// RFC 9292, section 3.6 forbids them, because other implementations send them.
    ///
    /// - Parameters:
    ///   - bytes: The whole message, padding included.
    ///   - limits: The sizes to accept.
    /// - Throws: ``OHTTPError`` with code `malformedMessage`, `truncatedMessage` or `limitExceeded`.
    public init(decoding bytes: Data, limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws(OHTTPError) {
        var parser = MessageParser(.request, limits: limits, bytes: bytes, isWhole: true)
        guard case .requestHead(let head) = try parser.next() else { throw .incomplete }
        self.init(head: head)
        try parser.readContent(into: &body, &trailers)
    }

    /// Encodes the message.
    ///
    /// Field names are written in lower case. Connection-specific fields (RFC 9110, section 7.6.1) are left out, because they have no
    /// meaning here.
    ///
    /// - Parameters:
    ///   - framing: The framing; every deployed gateway reads known length.
    ///   - padding: The zeros that hide the length.
    /// - Returns: The complete message.
    /// - Throws: ``OHTTPError`` with code `unencodable` when the control data breaks RFC 9113, sections 8.3.1 and 8.5 (such as a missing
    ///   path), or has bytes that are not visible ASCII.
    public func encoded(framing: BinaryHTTPFraming = .knownLength, padding: BinaryHTTPPadding = .none) throws(OHTTPError) -> [UInt8] {
        var writer = MessageWriter(framing)
        writer.reserve(body: body.count, padding: padding)
        writer.appendRequestIndicator()
        try writer.append(head)
        writer.append(body: body, trailers: trailers)
        return writer.padded(padding)
    }
}

extension MessageParser {
    /// Reads the content, trailers and end of a complete message.
    mutating func readContent(into body: inout Data, _ trailers: inout HTTPFields) throws(OHTTPError) {
        while let part = try next() {
            switch part {
            case .body(let bytes): if body.isEmpty { body = bytes } else { body.append(bytes) }
            case .trailers(let fields): trailers = fields
            default: return
            }
        }
    }
}

extension OHTTPError {
    /// The error for a complete message that ends too early; the parser throws it itself, but the compiler cannot know that.
    static var incomplete: OHTTPError { OHTTPError(.truncatedMessage, "the message ends within one of its parts (RFC 9292, section 3.8)") }
}
