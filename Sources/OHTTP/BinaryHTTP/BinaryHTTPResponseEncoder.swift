public import Foundation
public import HTTPTypes

/// Encodes a Binary HTTP response of indeterminate length while its content is produced.
///
/// Call `informational` once for each informational response, `head` once, `body` for each part, and then `end`, which consumes the
/// encoder. Send the bytes that each call returns, in order.
public struct BinaryHTTPResponseEncoder: ~Copyable, Sendable {
    private var stream = StreamWriter()
    private var hasIndicator = false

    /// Makes an encoder for one response.
    public init() {}

    /// Encodes an informational response, which precedes the final one, without connection-specific fields.
    ///
    /// - Parameter response: The status, 100 to 199, and the header fields.
    /// - Returns: The bytes to send.
    /// - Throws: ``OHTTPError`` with code `unencodable` for another status, or when the head was already written.
    public mutating func informational(_ response: HTTPResponse) throws(OHTTPError) -> [UInt8] {
        try write(response, isFinal: false)
    }

    /// Encodes the status and header fields of the final response, without connection-specific fields.
    ///
    /// - Parameter response: The head, with a status of 200 to 599.
    /// - Returns: The bytes to send.
    /// - Throws: ``OHTTPError`` with code `unencodable` for another status, or when the head was already written.
    public mutating func head(_ response: HTTPResponse) throws(OHTTPError) -> [UInt8] {
        try write(response, isFinal: true)
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

    private mutating func write(_ response: HTTPResponse, isFinal: Bool) throws(OHTTPError) -> [UInt8] {
        let isFirst = !hasIndicator
        let bytes = try stream.write(isFinal ? .head : .informational) { (writer) throws(OHTTPError) in
            if isFirst { writer.appendResponseIndicator() }
            try writer.append(response, isFinal: isFinal)
        }
        hasIndicator = true
        return bytes
    }
}
