public import Foundation
public import HTTPTypes

/// Writes a Binary HTTP request of indeterminate length while its content is made.
///
/// Call `head` once, `body` for each part, and `end`, which uses the encoder up; send what each returns, in order.
public struct BinaryHTTPRequestEncoder: ~Copyable, Sendable {
    private var stream = StreamWriter()

    /// An encoder for one request.
    public init() {}

    /// Control data and header fields; fields about a connection are left out.
    ///
    /// - Parameter request: with scheme and path, or CONNECT without both.
    /// - Returns: bytes to send.
    /// - Throws: `unencodable` when Binary HTTP cannot say it, or the head was written already.
    public mutating func head(_ request: HTTPRequest) throws(OHTTPError) -> [UInt8] {
        try stream.write(.head) { (writer) throws(OHTTPError) in
            writer.appendRequestIndicator()
            try writer.append(request)
        }
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
}
