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
    /// Is told of every server that the rule refuses, and of those that a ``ReportOnlyTrustEvaluator`` would refuse.
    ///
    /// Called inside the TLS handshake: it must return at once, without I/O.
    public let observer: (@Sendable (TrustViolation) -> Void)?

    /// Makes a rule.
    ///
    /// Without an evaluator it is path validation alone.
    public init(
        evaluators: [any ServerTrustEvaluating], anchors: TrustAnchors? = nil, observer: (@Sendable (TrustViolation) -> Void)? = nil
    ) {
        self.evaluators = evaluators
        self.anchors = anchors
        self.observer = observer
        validatesPath = !(evaluators.count == 1 && evaluators[0] is DisabledTrustEvaluator)
    }
}
