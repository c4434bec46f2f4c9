internal import Metrics

/// What a gateway counts (swift-metrics); no label tells clients or targets apart.
struct GatewayMetrics: Sendable {
    /// What became of a request.
    enum Outcome: String, CaseIterable {
        /// Its target answered, and the answer went back.
        case answered
        /// It could not be opened.
        case unopened
        /// It was sealed to a key that the gateway does not have, or no longer has.
        case unknownKey
        /// It was here before.
        case replayed
        /// Its date was missing or too far off.
        case date
        /// Its target is not one of those that are allowed.
        case forbidden
        /// Once opened it was no valid request, or larger than one may be.
        case malformed
        /// It only asked whether the gateway understands chunks, as apps do before their first request in them.
        case question
        /// It was turned away unopened: too large, or of another media type.
        case refused
        /// The gateway had no place for it, or could not remember it; it was told to come back.
        case busy
        /// Its target gave no usable answer, or the gateway could not seal one.
        case failed
        /// The relay's side broke it off, or sent no more of it for too long.
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
