public import Foundation
public import HTTPTypes

/// Writes a Binary HTTP response of indeterminate length while its content is made.
///
/// Call `informational` as often as there are such responses, `head` once, `body` for each part, and `end`, which uses the encoder up;
/// send what each returns, in order.
public struct BinaryHTTPResponseEncoder: ~Copyable, Sendable {
    private var stream = StreamWriter()
    private var hasIndicator = false

    /// An encoder for one response.
    public init() {}

    /// A response with a status of 100 to 199 that comes before the final one; fields about a connection are left out.
    ///
    /// - Parameter response: status and header fields.
    /// - Returns: bytes to send.
    /// - Throws: `unencodable` for another status, or when the head was written already.
    public mutating func informational(_ response: HTTPResponse) throws(OHTTPError) -> [UInt8] {
        try write(response, isFinal: false)
    }

    /// Status and header fields of the final response; fields about a connection are left out.
    ///
    /// - Parameter response: with a status of 200 to 599.
    /// - Returns: bytes to send.
    /// - Throws: `unencodable` for another status, or when the head was written already.
    public mutating func head(_ response: HTTPResponse) throws(OHTTPError) -> [UInt8] {
        try write(response, isFinal: true)
    }

    /// A part of the content.
    ///
    /// - Parameter bytes: any number, none too.
    /// - Returns: bytes to send.
    /// - Throws: `unencodable` before the head.
    public mutating func body(_ bytes: Data) throws(OHTTPError) -> [UInt8] {
        try stream.body(bytes)
    }

    /// The end of the message.
    ///
    /// - Parameters:
    ///   - trailers: the trailer fields.
    ///   - padding: zeros that hide the length of the whole.
    /// - Returns: the last bytes to send.
    /// - Throws: `unencodable` before the head.
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
