internal import Metrics

/// Counts a gateway's requests by outcome (swift-metrics); no label identifies a client or a target.
struct GatewayMetrics: Sendable {
    /// The outcome of a request.
    enum Outcome: String, CaseIterable {
        /// The target answered, and the gateway passed the response on.
        case answered
        /// It could not be opened.
        case unopened
        /// It names a key that the gateway does not have, or no longer has.
        case unknownKey
        /// It is a replay.
        case replayed
        /// Its `Date` is missing, unreadable or too far off, or requests without one cannot be remembered.
        case date
        /// Its target is not an allowed origin.
        case forbidden
        /// Its content is not a valid request, or exceeds a limit.
        case malformed
        /// It is a probe for chunk support, which apps send before their first chunked request.
        case question
        /// It was refused unopened: too large, or of another media type.
        case refused
        /// The gateway had no room to serve or to remember it, and answered 503.
        case busy
        /// The target gave no usable response, or the gateway could not seal a response.
        case failed
        /// The relay's side closed the connection, or stalled for too long.
        case abandoned
    }

    private let counters: [Outcome: Counter]

    init(_ factory: any MetricsFactory = MetricsSystem.factory) {
        counters = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map {
                ($0, Counter(label: "approov_gateway_requests", dimensions: [("outcome", $0.rawValue)], factory: factory))
            })
    }

    func count(_ outcome: Outcome) {
        counters[outcome]?.increment()
    }
}
