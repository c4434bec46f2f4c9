/// Limits of a ``CurlTransport``.
public struct CurlTransportConfiguration: Sendable {
    /// The most connections to one host and port; further requests wait, or share a connection over HTTP/2.
    public var maximumConnectionsPerHost = 16
    /// The most idle connections kept for reuse, for each trust policy in use.
    public var maximumIdleConnections = 64
    /// The most concurrent HTTP/2 streams on a connection, if the server allows as many.
    public var maximumStreamsPerConnection = 256
    /// The longest time for which a connection takes new requests, busy or idle; from 1 millisecond to 23 days.
    ///
    /// Servers are judged when connections are made, so a certificate that expires or is revoked may go unnoticed for this long. After that
    /// time, new requests use new connections, and requests under way end on the old ones.
    public var maximumConnectionAge: Duration = .seconds(3_600)
    /// The most requests at once, waiting ones included; one more fails with code `tooManyRequests`.
    public var maximumRequests = 65_536
    /// Fetches the OCSP responses and CRLs that evaluators ask for; nil: an ``HTTPLookupFetcher`` over the transport itself.
    ///
    /// The server's certificate names the URLs. The default refuses private addresses when the request does; your own fetcher must judge
    /// the URLs itself.
    public var lookupFetcher: (any TrustLookupFetching)?
    /// How long the look-ups of one attempt may take together; slower ones count as failed.
    public var lookupTimeout: Duration = .seconds(10)

    /// Makes limits with the defaults above.
    public init() {}
}
