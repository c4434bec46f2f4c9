public import Foundation
public import HTTPTypes

/// A whole request in Binary HTTP, `message/bhttp` (RFC 9292).
public struct BinaryHTTPRequest: Sendable, Hashable {
    /// Method, scheme, authority, path and header fields.
    ///
    /// Field values are octets: read them with `withUnsafeBytesOfValue` where they may be other than UTF-8. The path is what stood in
    /// the message, visible ASCII; that it begins with a slash is for whoever forwards the request to check.
    public var head: HTTPRequest
    /// The content; of a decoded message a slice of it, so that its first index is not 0.
    public var body: Data
    /// The trailer fields.
    public var trailers: HTTPFields

    /// A request.
    ///
    /// - Parameters:
    ///   - head: method, scheme, authority, path and header fields.
    ///   - body: the content.
    ///   - trailers: the trailer fields.
    public init(head: HTTPRequest, body: Data = Data(), trailers: HTTPFields = HTTPFields()) {
        self.head = head
        self.body = body
        self.trailers = trailers
    }

    /// Reads a message of known or indeterminate length.
    ///
    /// The content is not copied, unless an indeterminate-length message has it in several chunks.
    ///
    /// - Parameters:
    ///   - bytes: the whole message, padding included.
    ///   - limits: what is accepted.
    /// - Throws: `malformedMessage`, `truncatedMessage` or `limitExceeded`.
    public init(decoding bytes: Data, limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws(OHTTPError) {
        var parser = MessageParser(.request, limits: limits, bytes: bytes, isWhole: true)
        guard case .requestHead(let head) = try parser.next() else { throw .incomplete }
        self.init(head: head)
        try parser.readContent(into: &body, &trailers)
    }

    /// The message's bytes.
    ///
    /// Field names are written in lower case. Fields about a connection (RFC 9110, section 7.6.1) are left out: they have no meaning here.
    ///
    /// - Parameters:
    ///   - framing: known length is what every deployed gateway reads.
    ///   - padding: zeros that hide the length.
    /// - Returns: the message, never truncated.
    /// - Throws: `unencodable` when scheme or path is missing or has bytes that are not visible ASCII.
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
    /// Reads content, trailers and end of a whole message.
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
    /// A parser that has the whole message never asks for more; without this the compiler could not know.
    static var incomplete: OHTTPError { OHTTPError(.truncatedMessage, "the message ends inside of a part (RFC 9292 section 3.8)") }
}
