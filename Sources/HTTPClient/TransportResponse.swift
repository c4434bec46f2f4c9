public import HTTPTypes

/// A response: its head, and its body as a stream.
public struct TransportResponse: Sendable {
    /// The final status, 200...599 or what the server invented beyond; interim 1xx responses are not shown.
    public let status: Int
    /// The header fields in order, repeated ones apart.
    ///
    /// A body that was decompressed comes without `Content-Encoding` and `Content-Length`.
    public let headerFields: HTTPFields
    /// The protocol, such as "HTTP/1.1" or "HTTP/2".
    public let version: String
    /// The URL that answered: the request's, because a transport follows no redirect.
    public let url: TransportURL
    /// The content.
    public let body: ResponseBody

    /// Makes a response; for transports and test doubles.
    ///
    /// - Parameters:
    ///   - status: the final status.
    ///   - headerFields: the header fields.
    ///   - version: the protocol.
    ///   - url: the URL that answered.
    ///   - body: the content.
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
