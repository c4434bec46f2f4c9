/// The combined verdict of several evaluators, all of which must trust the server.
struct CombinedVerdict {
    /// The refusal of the first evaluator that refused.
    private(set) var refusal: TrustRefusal?
    /// The look-ups that the evaluators need; empty after a refusal, because they could not change it.
    private(set) var lookups: [TrustLookup] = []
    /// The refusals that are reported but not enforced, from the evaluators asked so far.
    private(set) var reports: [TrustRefusal] = []

    /// Asks the evaluators in order until one refuses.
    init(of evaluators: [any ServerTrustEvaluating], _ trust: ServerTrust, forHost host: String) {
        for evaluator in evaluators {
            switch evaluator.evaluate(trust, forHost: host).checked(for: trust) {
            case .trusted: continue
            case .reported(let report): reports.append(report)
            case .needs(let more): lookups += more.filter { !lookups.contains($0) }
            case .refused(let first):
                refusal = first
                lookups = []
                return
            }
        }
    }
}
