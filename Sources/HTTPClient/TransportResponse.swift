public import HTTPTypes

/// A response: its head, and its body as a stream.
public struct TransportResponse: Sendable {
    /// The final status: 200...599, or a higher one if the server sends it; interim 1xx responses are not shown.
    public let status: Int
    /// The header fields in order; repeated fields stay separate.
    ///
    /// When the transport decompressed the body, it removes `Content-Encoding` and `Content-Length`.
    public let headerFields: HTTPFields
    /// The protocol, such as "HTTP/1.1" or "HTTP/2".
    public let version: String
    /// The URL that answered: that of the request, because a transport follows no redirects.
    public let url: TransportURL
    /// The content.
    public let body: ResponseBody

    /// Makes a response; for transports and test doubles.
    ///
    /// - Parameters:
    ///   - status: The final status.
    ///   - headerFields: The header fields.
    ///   - version: The protocol.
    ///   - url: The URL that answered.
    ///   - body: The content.
    public init(
        status: Int, headerFields: HTTPFields = [:], version: String = "HTTP/1.1", url: TransportURL,
        body: ResponseBody = ResponseBody(bytes: [])
    ) {
        self.status = status
        self.headerFields = headerFields
        self.version = version
        self.url = url
        self.body = body
    }
}
