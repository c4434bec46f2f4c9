public import Foundation
public import HTTPTypes

/// Reads a Binary HTTP request as it arrives, in any split, of known or indeterminate length.
///
/// Append what has come, take events until there are none, and so on; call `finish` when no more will come. What is not a whole part yet
/// is kept, within the limits; content is handed out as it comes, in slices of what was appended.
public struct BinaryHTTPRequestParser: Sendable {
    /// What a request says, in this order.
    public enum Event: Sendable, Hashable {
        /// Method, scheme, authority, path and header fields.
        case head(HTTPRequest)
        /// A part of the content, at least one byte; its first index may be other than 0.
        case body(Data)
        /// The trailer fields, when there are any.
        case trailers(HTTPFields)
        /// The request is complete and valid to its last byte, padding included. Without this event it is not.
        case end
    }

    private var parser: MessageParser

    /// A parser.
    ///
    /// - Parameter limits: what is accepted.
    public init(limits: BinaryHTTPLimits = BinaryHTTPLimits()) {
        parser = MessageParser(.request, limits: limits)
    }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter bytes: any number, none too.
    /// - Throws: `finished` after `finish`.
    public mutating func append(_ bytes: Data) throws(OHTTPError) {
        try parser.append(bytes)
    }

    /// Says that no more bytes will come.
    public mutating func finish() {
        parser.finish()
    }

    /// The next event.
    ///
    /// - Returns: nil when more bytes are needed, and after `end`.
    /// - Throws: `malformedMessage`, `truncatedMessage` or `limitExceeded`; the same again each time it is called after that.
    public mutating func next() throws(OHTTPError) -> Event? {
        switch try parser.next() {
        case .requestHead(let head): .head(head)
        case .body(let bytes): .body(bytes)
        case .trailers(let fields): .trailers(fields)
        case .end: .end
        case nil, .informational, .responseHead: nil
        }
    }
}
