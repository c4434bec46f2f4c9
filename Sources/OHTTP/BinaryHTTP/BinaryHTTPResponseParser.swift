public import Foundation
public import HTTPTypes

/// Reads a Binary HTTP response of known or indeterminate length while it arrives, however its bytes are split.
///
/// Append the bytes that have arrived, then call `next` until it returns nil, and repeat; call `finish` after the last bytes. The parser
/// keeps incomplete parts, within the limits. It passes content on as it arrives, in slices of the appended bytes.
public struct BinaryHTTPResponseParser: Sendable {
    /// A part of a response; parts come in this order.
    public enum Event: Sendable, Hashable {
        /// An informational response (status 100 to 199), which precedes the final one.
        case informational(HTTPResponse)
        /// The status and header fields of the final response.
        case head(HTTPResponse)
        /// A part of the content, at least one byte; its first index can differ from 0.
        case body(Data)
        /// The trailer fields; omitted when the message has none.
        case trailers(HTTPFields)
        /// The response is complete and valid to its last byte, padding included; before this event it is not.
        case end
    }

    private var parser: MessageParser

    /// Makes a parser.
    ///
    /// - Parameter limits: The sizes to accept.
    public init(limits: BinaryHTTPLimits = BinaryHTTPLimits()) {
        parser = MessageParser(.response, limits: limits)
    }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter bytes: The bytes; may be empty.
    /// - Throws: ``OHTTPError`` with code `finished` after `finish`.
    public mutating func append(_ bytes: Data) throws(OHTTPError) {
        try parser.append(bytes)
    }

    /// Marks the end of the input.
    public mutating func finish() {
        parser.finish()
    }

    /// Returns the next event.
    ///
    /// - Returns: Nil when more bytes are needed, and after `end`.
    /// - Throws: ``OHTTPError`` with code `malformedMessage`, `truncatedMessage` or `limitExceeded`; every later call throws the same
    ///   error.
    public mutating func next() throws(OHTTPError) -> Event? {
        switch try parser.next() {
        case .informational(let head): .informational(head)
        case .responseHead(let head): .head(head)
        case .body(let bytes): .body(bytes)
        case .trailers(let fields): .trailers(fields)
        case .end: .end
        case nil, .requestHead: nil
        }
    }
}
