public import CertificatePinning
public import HTTPTypes

/// One request as a transport sends it.
public struct TransportRequest: Sendable {
    /// The URL to request.
    public var url: TransportURL
    /// The method; GET by default.
    public var method: HTTPRequest.Method
    /// The header fields.
    ///
    /// The transport sets `Host`, `Content-Length`, `Connection` and `Transfer-Encoding` itself and refuses requests that contain them. Two
    /// exceptions: a `Host` equal to the URL's, and any `Content-Length`, which the transport ignores and computes itself.
    public var headerFields: HTTPFields
    /// The content.
    public var body: RequestBody
    /// Decides about the server's certificate, and which connections may be reused.
    public var policy: TrustPolicy
    /// Timeouts, limits and progress callbacks.
    public var options: TransferOptions

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: The URL to request.
    ///   - method: The method.
    ///   - headerFields: The header fields.
    ///   - body: The content.
    ///   - policy: Decides about the server's certificate.
    ///   - options: Timeouts, limits and progress callbacks.
    public init(
        url: TransportURL, method: HTTPRequest.Method = .get, headerFields: HTTPFields = [:], body: RequestBody = .none,
        policy: TrustPolicy, options: TransferOptions = TransferOptions()
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
        self.policy = policy
        self.options = options
    }

    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    ///
    /// The method decides, unless ``TransferOptions/isIdempotent`` overrides it.
    public var isIdempotent: Bool {
        options.isIdempotent ?? method.isIdempotent
    }
}
