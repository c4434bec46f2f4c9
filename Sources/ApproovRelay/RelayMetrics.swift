internal import Metrics

/// What a relay counts (swift-metrics); no label tells clients apart.
struct RelayMetrics: Sendable {
    private let forwarded: Counter
    private let refused: Counter
    private let failed: Counter
    private let abandoned: Counter

    init(_ factory: any MetricsFactory = MetricsSystem.factory) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "approov_relay_requests", dimensions: [("outcome", outcome)], factory: factory)
        }
        forwarded = counter("forwarded")
        refused = counter("refused")
        failed = counter("failed")
        abandoned = counter("abandoned")
    }

    /// The gateway answered, and its answer went back.
    func wasForwarded() { forwarded.increment() }

    /// The client's request was not one to forward.
    func wasRefused() { refused.increment() }

    /// The gateway gave no usable answer, or not to its end.
    func hasFailed() { failed.increment() }

    /// The client broke off: its request, or the answer to it.
    func wasAbandoned() { abandoned.increment() }
}
