public import Foundation
public import HTTPTypes

/// Encodes a Binary HTTP request of indeterminate length while its content is produced.
///
/// Call `head` once, `body` for each part, and then `end`, which consumes the encoder. Send the bytes that each call returns, in order.
public struct BinaryHTTPRequestEncoder: ~Copyable, Sendable {
    private var stream = StreamWriter()

    /// Makes an encoder for one request.
    public init() {}

    /// Encodes control data and header fields, without connection-specific fields.
    ///
    /// - Parameter request: The head, with scheme and path, or CONNECT without both.
    /// - Returns: The bytes to send.
    /// - Throws: ``OHTTPError`` with code `unencodable` when Binary HTTP cannot represent the head, or when it was already written.
    public mutating func head(_ request: HTTPRequest) throws(OHTTPError) -> [UInt8] {
        try stream.write(.head) { (writer) throws(OHTTPError) in
            writer.appendRequestIndicator()
            try writer.append(request)
        }
    }

    /// Encodes a part of the content.
    ///
    /// - Parameter bytes: The part; may be empty.
    /// - Returns: The bytes to send.
    /// - Throws: ``OHTTPError`` with code `unencodable` before the head.
    public mutating func body(_ bytes: Data) throws(OHTTPError) -> [UInt8] {
        try stream.body(bytes)
    }

    /// Encodes the end of the message.
    ///
    /// - Parameters:
    ///   - trailers: The trailer fields.
    ///   - padding: The zeros that hide the length of the whole message.
    /// - Returns: The last bytes to send.
    /// - Throws: ``OHTTPError`` with code `unencodable` before the head.
    public consuming func end(trailers: HTTPFields = HTTPFields(), padding: BinaryHTTPPadding = .none) throws(OHTTPError) -> [UInt8] {
        try stream.end(trailers, padding)
    }
}
