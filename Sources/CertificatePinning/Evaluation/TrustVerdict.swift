/// An evaluator's decision about a server.
public enum TrustVerdict: Sendable {
    /// This evaluator trusts the server.
    case trusted
    /// The server is refused: the handshake ends before any byte of the request is sent.
    case refused(TrustRefusal)
    /// The evaluator needs data: the handshake ends, the look-ups run, and the connection is tried again with their results.
    ///
    /// A second verdict may need more; if a third one still does, the server is refused. An empty list refuses it at once.
    case needs([TrustLookup])
    /// The rule is not enforced: the handshake continues, and the ``TrustRule/observer`` receives the refusal.
    case reported(TrustRefusal)

    /// The verdict, or a refusal in place of a need without look-ups, which no later verdict could meet.
    func checked(for trust: ServerTrust) -> TrustVerdict {
        guard case .needs(let lookups) = self, lookups.isEmpty else { return self }
        return .refused(
            TrustRefusal(
                .evaluatorFailed, trust: trust,
                detail: "an evaluator needs look-ups and names none, so it cannot judge the server; it must name one, or decide"))
    }
}

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
