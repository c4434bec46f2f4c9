public import HTTPClient

/// Content for a request, and the headers that describe it.
public protocol BodySerializer: Sendable {
    /// Makes the content.
    ///
    /// - Returns: The content with its headers.
    /// - Throws: ``APIError`` with code `invalidBody` when the content cannot be written.
    func serialize() throws -> SerializedBody
}

/// The content of a request with its headers.
public struct SerializedBody: Sendable {
    /// The value of the header Content-Type.
    public var contentType: String
    /// Further headers, by name.
    public var headers: [String: String]
    /// The content.
    public var body: RequestBody

    /// Makes content with its headers.
    ///
    /// - Parameters:
    ///   - contentType: The value of the header Content-Type.
    ///   - headers: Further headers, by name.
    ///   - body: The content.
    public init(contentType: String, headers: [String: String] = [:], body: RequestBody) {
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }
}
