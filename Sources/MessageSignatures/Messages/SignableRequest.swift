public import HTTPTypes

/// The parts of a request that a signature can cover.
public struct SignableRequest: Sendable {
    /// The method, as sent.
    public let method: String
    /// The target URI, as sent.
    public let target: TargetURI
    /// The header fields.
    public var fields: HTTPFields
    /// The trailers; nil if there are none.
    public var trailers: HTTPFields?
    /// The target in the request line of HTTP/1.1, for `@request-target`; nil for path and query of the target URI.
    ///
    /// It must be visible ASCII; otherwise no signature can cover it.
    public var requestTarget: String?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The method, as sent; its case matters.
    ///   - target: The target URI, as sent.
    ///   - fields: The header fields.
    ///   - trailers: The trailers; nil if there are none.
    /// - Throws: ``MessageSignatureError`` with code `invalidMessage` when the method is not a token (RFC 9110, section 9.1).
    public init(method: String, target: TargetURI, fields: HTTPFields, trailers: HTTPFields? = nil) throws(MessageSignatureError) {
        guard HTTPRequest.Method(rawValue: method) != nil else {
            throw MessageSignatureError(.invalidMessage, "the method is not a token (RFC 9110, section 9.1)")
        }
        self.method = method
        self.target = target
        self.fields = fields
        self.trailers = trailers
    }

    /// Takes a request of swift-http-types.
    ///
    /// - Parameters:
    ///   - request: A request with scheme, authority and path.
    ///   - trailers: The trailers; nil if there are none.
    /// - Throws: ``MessageSignatureError`` with code `invalidMessage` when scheme, authority or path is missing or malformed.
    public init(_ request: HTTPRequest, trailers: HTTPFields? = nil) throws(MessageSignatureError) {
        guard let scheme = request.scheme, let authority = request.authority, let path = request.path else {
            throw MessageSignatureError(.invalidMessage, "a request needs scheme, authority and path to be signed")
        }
        method = request.method.rawValue
        target = try TargetURI(scheme: scheme, authority: authority, path: path)
        fields = request.headerFields
        self.trailers = trailers
        if path == "*" { requestTarget = path }
    }
}
