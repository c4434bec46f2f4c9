/// Combines several evaluators for one host; each of them must trust the server.
///
/// The evaluators are asked in order, and the first refusal is the verdict. If several need look-ups, the look-ups are made together. A
/// ``DisabledTrustEvaluator`` among them has no effect. If two of them name different roots or client certificates, making a session with
/// them throws.
public struct CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]
    /// The combined conditions of the evaluators.
    public let conditions: TrustConditions

    /// Makes the evaluator; without evaluators, path validation alone decides.
    ///
    /// - Parameter evaluators: The evaluators, in the order in which they are asked.
    public init(evaluators: [any ServerTrustEvaluating]) {
        self.evaluators = evaluators
        conditions = evaluators.reduce(TrustConditions()) { $0.merging($1.conditions) }
    }

    /// Trusts servers that all evaluators trust; if several only report a refusal, returns the first report.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        let combined = CombinedVerdict(of: evaluators, trust, forHost: host)
        if let refusal = combined.refusal { return .refused(refusal) }
        guard combined.lookups.isEmpty else { return .needs(combined.lookups) }
        return combined.reports.first.map(TrustVerdict.reported) ?? .trusted
    }
}
