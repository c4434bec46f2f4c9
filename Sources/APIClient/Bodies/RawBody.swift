public import Foundation
public import HTTPClient

/// Content as it is: bytes, a file or a stream.
///
/// ```swift
/// let photo = try RawBody(file: url, contentType: "image/jpeg")
/// _ = try await client.resource("users/7/photo").send(.put, body: photo)
/// ```
public struct RawBody: BodySerializer {
    private let content: RequestBody
    private let contentType: String

    /// Makes content.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - contentType: The value of the header Content-Type.
    public init(_ content: RequestBody, contentType: String = "application/octet-stream") {
        self.content = content
        self.contentType = contentType
    }

    /// Makes content of bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The value of the header Content-Type.
    public init(_ data: Data, contentType: String = "application/octet-stream") {
        self.init(.bytes([UInt8](data)), contentType: contentType)
    }

    /// Makes content of a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - file: The file URL of a regular file.
    ///   - contentType: The value of the header Content-Type.
    /// - Throws: ``APIError`` with code `invalidBody` when the URL is not that of a file on this machine, or has `%00` or
    ///   `%2F` in its path.
    public init(file: URL, contentType: String = "application/octet-stream") throws {
        self.init(.file(path: try file.pathOfFile()), contentType: contentType)
    }

    /// Returns the content.
    ///
    /// - Returns: The content with its headers.
    public func serialize() -> SerializedBody { SerializedBody(contentType: contentType, body: content) }
}
