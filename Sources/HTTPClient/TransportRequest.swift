public import CertificatePinning
public import HTTPTypes

/// One request as a transport sends it.
public struct TransportRequest: Sendable {
    /// Where it goes.
    public var url: TransportURL
    /// The method; GET unless said otherwise.
    public var method: HTTPRequest.Method
    /// The header fields.
    ///
    /// `Host`, `Content-Length`, `Connection` and `Transfer-Encoding` are the transport's own: a field of that name is refused,
    /// except a `Host` equal to the URL's and a `Content-Length`, which is left out and written anew.
    public var headerFields: HTTPFields
    /// The content.
    public var body: RequestBody
    /// What decides about the server's certificate, and which connections may be reused.
    public var policy: TrustPolicy
    /// Timeouts, bounds and progress.
    public var options: TransferOptions

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - url: where it goes.
    ///   - method: the method.
    ///   - headerFields: the header fields.
    ///   - body: the content.
    ///   - policy: what decides about the server's certificate.
    ///   - options: timeouts, bounds and progress.
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

    /// Whether sending it twice has the effect of sending it once (RFC 9110 section 9.2.2), unless the options say otherwise.
    public var isIdempotent: Bool {
        options.isIdempotent ?? method.isIdempotent
    }
}

extension HTTPRequest.Method {
    /// Whether a request with this method that is sent twice has the effect of one that is sent once (RFC 9110 section 9.2.2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete, .trace: true
        default: false
        }
    }
}

/// Timeouts, bounds and progress of one transfer.
public struct TransferOptions: Sendable {
    /// How long name look-up, TCP and TLS may take together.
    public var connectTimeout: Duration = .seconds(30)
    /// How long no header line and no content may move in either direction.
    ///
    /// Waiting for a slow consumer of the body does not count.
    public var idleTimeout: Duration = .seconds(60)
    /// How long the whole transfer may take; nil: no bound.
    public var totalTimeout: Duration?
    /// The largest header section accepted, in bytes.
    public var maximumHeaderBytes = 65_536
    /// The largest decoded body accepted, in bytes; nil: no bound, which is safe only for a body that is streamed.
    public var maximumBodyBytes: Int?
    /// Whether gzip, br and zstd are offered and decoded.
    ///
    /// A request with its own `Accept-Encoding` gets its response as sent.
    public var decompresses = true
    /// Called with the bytes of the request's content handed to the connection so far.
    ///
    /// On the transport's thread: must not block.
    public var onUpload: (@Sendable (TransferProgress) -> Void)?
    /// Called with the decoded bytes of the response's content received so far.
    ///
    /// On the transport's thread: must not block.
    public var onDownload: (@Sendable (TransferProgress) -> Void)?
    /// The proxy to go through; nil: none.
    ///
    /// The environment's proxy variables are never read.
    public var proxy: ProxyConfiguration?
    /// The IPv4 or IPv6 address of this machine that the connection comes from; nil: that of a connection that is there, or the system's
    /// choice.
    public var localAddress: CanonicalHost?
    /// Overrides what the method says about idempotency.
    ///
    /// A request that is not idempotent is never put on the wire twice.
    public var isIdempotent: Bool?

    /// The defaults above.
    public init() {}
}

/// How far a body has come.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes so far.
    public let completed: Int
    /// Bytes in all, when known.
    public let total: Int?

    /// Makes a progress value.
    ///
    /// - Parameters:
    ///   - completed: bytes so far.
    ///   - total: bytes in all, when known.
    public init(completed: Int, total: Int?) {
        self.completed = completed
        self.total = total
    }
}

/// A proxy that the caller configured.
public struct ProxyConfiguration: Sendable, Hashable {
    /// How to talk to the proxy.
    ///
    /// A proxy that is itself reached over TLS is not supported.
    public enum Kind: Sendable, Hashable {
        /// HTTP, with CONNECT for https (RFC 9110 section 9.3.6).
        case http
        /// SOCKS 5 with names resolved by the proxy (RFC 1928).
        case socks5
    }

    /// How to talk to the proxy.
    public var kind: Kind
    /// The proxy's name or address.
    public var host: CanonicalHost
    /// The proxy's port.
    public var port: Int

    /// Names a proxy.
    ///
    /// - Parameters:
    ///   - kind: how to talk to it.
    ///   - host: its name or address.
    ///   - port: its port, 1...65535.
    public init(kind: Kind, host: CanonicalHost, port: Int) {
        self.kind = kind
        self.host = host
        self.port = port
    }
}
