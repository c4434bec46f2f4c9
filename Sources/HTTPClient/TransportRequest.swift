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

extension HTTPRequest.Method {
    /// Whether sending a request with this method twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete, .trace: true
        default: false
        }
    }
}

/// Timeouts, limits and progress callbacks of one transfer.
public struct TransferOptions: Sendable {
    /// How long name look-up, TCP and TLS may take together.
    public var connectTimeout: Duration = .seconds(30)
    /// The longest time without a header line or content in either direction.
    ///
    /// Waiting for a slow reader of the response body, or a slow producer of the request body, does not count.
    public var idleTimeout: Duration = .seconds(60)
    /// How long the whole transfer may take; nil: no limit.
    public var totalTimeout: Duration?
    /// The largest header section accepted, in bytes.
    public var maximumHeaderBytes = 65_536
    /// The largest decoded body accepted, in bytes; nil: no limit, which is safe only for a body that is streamed.
    public var maximumBodyBytes: Int?
    /// Whether the transport offers and decodes those of gzip, br and zstd that libcurl supports.
    ///
    /// The response to a request with its own `Accept-Encoding` is not decoded.
    public var decompresses = true
    /// Called with the number of content bytes handed to the connection so far.
    ///
    /// Runs on the transport's thread, so it must not block.
    public var onUpload: (@Sendable (TransferProgress) -> Void)?
    /// Called with the number of decoded content bytes received so far.
    ///
    /// Runs on the transport's thread, so it must not block.
    public var onDownload: (@Sendable (TransferProgress) -> Void)?
    /// Called with the durations of the transfer's phases when the transfer ends or fails.
    ///
    /// A request that needs several transfers has several calls. The last one comes before the reader sees the end of the response's body.
    /// Runs on the transport's thread, so it must not block.
    public var onTimings: (@Sendable (TransferTimings) -> Void)?
    /// The proxy to use; nil: none.
    ///
    /// The transport never reads the environment's proxy variables.
    public var proxy: ProxyConfiguration?
    /// The local IPv4 or IPv6 address to connect from; nil: that of an open connection, or the system's choice.
    public var localAddress: CanonicalHost?
    /// Overrides whether the method counts as idempotent.
    ///
    /// The transport never sends a request that is not idempotent twice.
    public var isIdempotent: Bool?

    /// Whether to refuse connections to addresses that are not public; without effect when a proxy connects.
    package var refusesPrivateAddresses = false

    /// The rules under which the request was prepared; nil if they cannot change.
    ///
    /// The transport asks them when the connection is ready, and sends nothing once they are out of date.
    package var rules: (any RequestRules)?

    /// The length that a file to upload must have; nil for any.
    ///
    /// Set when the request's fields describe the file, so that a file that changed since is not sent.
    package var fileLength: Int?

    /// The session's transfers, which it can end together.
    package var group: TransferGroup?

    /// Suspends and resumes the transfer.
    package var control: TransferControl?

    /// Cancels the transfer from outside of its task; only a ``CancellableTransport`` obeys it.
    package var cancellation: (any TransferCancellation)?

    /// Makes options with the defaults above.
    public init() {}
}

/// The rules under which a request was prepared.
package protocol RequestRules: AnyObject, Sendable {
    /// Whether no newer rules have replaced them.
    ///
    /// Called on the transport's thread, so it must not block.
    var areInForce: Bool { get }
}

/// How much of a body has been transferred.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes transferred so far.
    public let completed: Int
    /// The total number of bytes, when known.
    public let total: Int?

    /// Makes a progress value.
    ///
    /// - Parameters:
    ///   - completed: Bytes transferred so far.
    ///   - total: The total number of bytes, when known.
    public init(completed: Int, total: Int?) {
        self.completed = completed
        self.total = total
    }
}

/// A proxy that the caller configured.
public struct ProxyConfiguration: Sendable, Hashable {
    /// The protocol to speak with the proxy.
    ///
    /// TLS to the proxy itself is not supported.
    public enum Kind: Sendable, Hashable {
        /// HTTP, with CONNECT for https (RFC 9110, section 9.3.6).
        case http
        /// SOCKS 5 with names resolved by the proxy (RFC 1928).
        case socks5
    }

    /// The protocol to speak with the proxy.
    public var kind: Kind
    /// The proxy's name or address.
    public var host: CanonicalHost
    /// The proxy's port.
    public var port: Int

    /// Describes a proxy.
    ///
    /// - Parameters:
    ///   - kind: The protocol to speak with the proxy.
    ///   - host: The proxy's name or address.
    ///   - port: The proxy's port, 1...65535.
    public init(kind: Kind, host: CanonicalHost, port: Int) {
        self.kind = kind
        self.host = host
        self.port = port
    }
}
