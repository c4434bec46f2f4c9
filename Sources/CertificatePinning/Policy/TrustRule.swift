/// What holds for one host: the roots that its path may end in, and the evaluators that judge it.
public struct TrustRule: Sendable {
    /// The evaluators, all of which must trust, asked in this order.
    public let evaluators: [any ServerTrustEvaluating]
    /// The roots of the host; nil: those of the policy.
    public let anchors: TrustAnchors?
    /// Whether the path, the host name and the purpose are validated before the evaluators are asked.
    ///
    /// False only when the evaluators are exactly one ``DisabledTrustEvaluator``.
    public let validatesPath: Bool

    /// Makes a rule.
    ///
    /// Without an evaluator it is path validation alone.
    public init(evaluators: [any ServerTrustEvaluating], anchors: TrustAnchors? = nil) {
        self.evaluators = evaluators
        self.anchors = anchors
        validatesPath = !(evaluators.count == 1 && evaluators[0] is DisabledTrustEvaluator)
    }
}
