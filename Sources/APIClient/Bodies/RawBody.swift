public import HTTPClient

/// Content as it is: bytes, a file or a stream.
///
/// ```swift
/// import HTTPClient
///
/// let photo = RawBody(.file(path: "/tmp/photo.jpg"), contentType: "image/jpeg")
/// _ = try await client.resource("users/7/photo").send(.put, body: photo)
/// ```
public struct RawBody: BodySerializer {
    private let content: RequestBody
    private let contentType: String

    /// Makes content.
    ///
    /// - Parameters:
    ///   - content: The content; a file is read while it is sent.
    ///   - contentType: The value of the header Content-Type.
    public init(_ content: RequestBody, contentType: String = "application/octet-stream") {
        self.content = content
        self.contentType = contentType
    }

    /// Returns the content.
    ///
    /// - Returns: The content with its headers.
    public func serialize() -> SerializedBody { SerializedBody(contentType: contentType, body: content) }
}
