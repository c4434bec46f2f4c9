/// What an evaluator says about a server.
public enum TrustVerdict: Sendable {
    /// The server is trusted, as far as this evaluator is concerned.
    case trusted
    /// The server is refused: the handshake ends before a byte of the request is sent.
    case refused(TrustRefusal)
    /// The evaluator must know more: the handshake ends, the look-ups run, and the connection is tried again with what they brought.
    ///
    /// A second verdict may ask for more; a third one cannot, and the server is refused.
    case needs([TrustLookup])
    /// The server would be refused, but the rule is only reported: the handshake goes on, and the ``TrustRule/observer`` is told.
    case reported(TrustRefusal)
}

/// The verdicts of several evaluators together, all of which must trust.
struct CombinedVerdict {
    /// What the first one that refused says.
    private(set) var refusal: TrustRefusal?
    /// What the others need; empty where one refused, so that nothing is looked up for a server that is refused anyway.
    private(set) var lookups: [TrustLookup] = []
    /// What is only reported, of those that were asked.
    private(set) var reports: [TrustRefusal] = []

    /// Asks the evaluators in their order until one refuses.
    init(of evaluators: [any ServerTrustEvaluating], _ trust: ServerTrust, forHost host: String) {
        for evaluator in evaluators {
            switch evaluator.evaluate(trust, forHost: host) {
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
