internal import Metrics

/// The relay's counters (swift-metrics); no label tells clients apart.
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

    /// Counts a request whose answer from the gateway went back.
    func recordForwarded() { forwarded.increment() }

    /// Counts a request that the relay refused.
    func recordRefusal() { refused.increment() }

    /// Counts a request for which the gateway gave no usable answer, or not all of it.
    func recordFailure() { failed.increment() }

    /// Counts a request that the client broke off, while sending it or while receiving its answer.
    func recordAbandonment() { abandoned.increment() }
}
