/// Several evaluators for one host, all of which must trust.
///
/// They are asked in their order; the first refusal is the verdict, and what they need is looked up together. A
/// ``DisabledTrustEvaluator`` among them does nothing. Two of them with different roots or client certificates are a mistake that is
/// reported where the session is made.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]
    /// What the evaluators want together.
    public let conditions: TrustConditions

    /// Makes the evaluator; without any evaluators it is path validation alone.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
        conditions = evaluators.reduce(TrustConditions()) { $0.merging($1.conditions) }
    }

    /// Trusts what all evaluators trust; of several reports it gives the first.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        let combined = CombinedVerdict(of: evaluators, trust, forHost: host)
        if let refusal = combined.refusal { return .refused(refusal) }
        guard combined.lookups.isEmpty else { return .needs(combined.lookups) }
        return combined.reports.first.map(TrustVerdict.reported) ?? .trusted
    }
}
