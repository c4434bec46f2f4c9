/// How long the phases of one transfer took, in real time.
///
/// A phase that did not take place is nil: a transfer over an open connection has no ``nameLookup``, ``connect`` and ``tls``.
/// libcurl reports ``connect`` and ``tls`` once both are complete, so a transfer that failed before has neither.
public struct TransferTimings: Sendable, Hashable {
    /// How long the look-up of the host's name took.
    public var nameLookup: Duration?
    /// How long TCP took to connect to the server or to a proxy, after the look-up.
    public var connect: Duration?
    /// How long the TLS handshake took, including the evaluation of the server's certificate.
    public var tls: Duration?
    /// The time from the transfer's start to the first byte of the response.
    public var firstByte: Duration?
    /// The time from the transfer's start to its end.
    public var total: Duration

    /// Makes timings.
    ///
    /// - Parameters:
    ///   - nameLookup: How long the look-up of the host's name took.
    ///   - connect: How long TCP took to connect.
    ///   - tls: How long the TLS handshake took.
    ///   - firstByte: The time from the transfer's start to the first byte of the response.
    ///   - total: The time from the transfer's start to its end.
    public init(
        nameLookup: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil, firstByte: Duration? = nil, total: Duration
    ) {
        self.nameLookup = nameLookup
        self.connect = connect
        self.tls = tls
        self.firstByte = firstByte
        self.total = total
    }
}
