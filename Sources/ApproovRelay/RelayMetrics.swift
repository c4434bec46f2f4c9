internal import Metrics

/// What a relay counts (swift-metrics); no label tells clients apart.
struct RelayMetrics: Sendable {
    private let forwarded = Counter(label: "approov_relay_requests", dimensions: [("outcome", "forwarded")])
    private let refused = Counter(label: "approov_relay_requests", dimensions: [("outcome", "refused")])
    private let failed = Counter(label: "approov_relay_requests", dimensions: [("outcome", "failed")])

    /// The gateway answered, and its answer went back.
    func wasForwarded() { forwarded.increment() }

    /// The client's request was not one to forward.
    func wasRefused() { refused.increment() }

    /// The gateway gave no usable answer, or not to its end.
    func hasFailed() { failed.increment() }
}
