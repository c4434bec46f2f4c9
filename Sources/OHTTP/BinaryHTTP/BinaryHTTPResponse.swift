public import Foundation
public import HTTPTypes

/// A complete response in Binary HTTP, `message/bhttp` (RFC 9292).
public struct BinaryHTTPResponse: Sendable, Hashable {
    /// The informational responses (status 100 to 199) that preceded the final one, in order.
    public var informational: [HTTPResponse]
    /// The status, 200 to 599, and the header fields.
    ///
    /// Field values are octets: read values that might not be UTF-8 with `withUnsafeBytesOfValue`.
    public var head: HTTPResponse
    /// The content; in a decoded message a slice of it, so that its first index can differ from 0.
    public var body: Data
    /// The trailer fields.
    public var trailers: HTTPFields

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - informational: The informational responses that precede it.
    ///   - head: The status and header fields.
    ///   - body: The content.
    ///   - trailers: The trailer fields.
    public init(
        informational: [HTTPResponse] = [], head: HTTPResponse, body: Data = Data(), trailers: HTTPFields = HTTPFields()
    ) {
        self.informational = informational
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
        var parser = MessageParser(.response, limits: limits, bytes: bytes, isWhole: true)
        var informational: [HTTPResponse] = []
        while let part = try parser.next() {
            if case .informational(let response) = part {
                informational.append(response)
            } else if case .responseHead(let head) = part {
                self.init(informational: informational, head: head)
                try parser.readContent(into: &body, &trailers)
                return
            }
        }
        throw .incomplete
    }

    /// Encodes the message.
    ///
    /// Field names are written in lower case. Connection-specific fields (RFC 9110, section 7.6.1) are left out, because they have no
    /// meaning here.
    ///
    /// - Parameters:
    ///   - framing: The framing; every deployed peer reads known length.
    ///   - padding: The zeros that hide the length.
    /// - Returns: The complete message.
    /// - Throws: ``OHTTPError`` with code `unencodable` when a status is out of its range.
    public func encoded(framing: BinaryHTTPFraming = .knownLength, padding: BinaryHTTPPadding = .none) throws(OHTTPError) -> [UInt8] {
        var writer = MessageWriter(framing)
        writer.reserve(body: body.count, padding: padding)
        writer.appendResponseIndicator()
        for response in informational { try writer.append(response, isFinal: false) }
        try writer.append(head, isFinal: true)
        writer.append(body: body, trailers: trailers)
        return writer.padded(padding)
    }
}
