public import CertificatePinning

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
    /// Whether the transport accepts compressed responses and decodes them: gzip, br and zstd, where libcurl supports them.
    ///
    /// The response to a request with its own `Accept-Encoding` is not decoded.
    public var decompresses = true
    /// Called with the number of content bytes handed to the connection so far.
    ///
    /// Runs on the transport's thread or on the requesting task's, so it must not block.
    public var onUpload: (@Sendable (TransferProgress) -> Void)?
    /// Called with the number of decoded content bytes received so far.
    ///
    /// Runs on the transport's thread or on the requesting task's, so it must not block.
    public var onDownload: (@Sendable (TransferProgress) -> Void)?
    /// Called with the durations of the transfer's phases when the transfer ends or fails.
    ///
    /// A request that needs several transfers has several calls. The last one comes before the reader sees the end of the response's body.
    /// Runs on the transport's thread or on the requesting task's, so it must not block.
    public var onTimings: (@Sendable (TransferTimings) -> Void)?
    /// The proxy to use; nil: none.
    ///
    /// The transport never reads the environment's proxy variables.
    public var proxy: ProxyConfiguration?
    /// The local IPv4 or IPv6 address to connect from; nil leaves the choice to the system, unless an open connection is reused.
    ///
    /// The look-ups that the server's certificate makes necessary leave from it, too, unless you set your own
    /// ``CurlTransportConfiguration/lookupFetcher``.
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
    package var rules: (any TransferRules)?

    /// Whether the caller can make the request again; then the transport refuses it, instead of sending it while it is suspended.
    package var canBeMadeAgain = true

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
