public import HTTPClient

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
