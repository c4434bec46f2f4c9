public import Foundation
public import HTTPTypes

/// A whole response in Binary HTTP, `message/bhttp` (RFC 9292).
public struct BinaryHTTPResponse: Sendable, Hashable {
    /// The informational responses (status 100 to 199) that came before, in order.
    public var informational: [HTTPResponse]
    /// Status, 200 to 599, and header fields.
    ///
    /// Field values are octets: read them with `withUnsafeBytesOfValue` where they may be other than UTF-8.
    public var head: HTTPResponse
    /// The content; of a decoded message a slice of it, so that its first index is not 0.
    public var body: Data
    /// The trailer fields.
    public var trailers: HTTPFields

    /// A response.
    ///
    /// - Parameters:
    ///   - informational: informational responses that come before.
    ///   - head: status and header fields.
    ///   - body: the content.
    ///   - trailers: the trailer fields.
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
    /// The content is not copied, unless an indeterminate-length message has it in several chunks.
    ///
    /// - Parameters:
    ///   - bytes: the whole message, padding included.
    ///   - limits: what is accepted.
    /// - Throws: `malformedMessage`, `truncatedMessage` or `limitExceeded`.
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

    /// The message's bytes.
    ///
    /// Field names are written in lower case. Fields about a connection (RFC 9110, section 7.6.1) are left out: they have no meaning here.
    ///
    /// - Parameters:
    ///   - framing: known length is what every deployed peer reads.
    ///   - padding: zeros that hide the length.
    /// - Returns: the message, never truncated.
    /// - Throws: `unencodable` when a status is out of its range.
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
