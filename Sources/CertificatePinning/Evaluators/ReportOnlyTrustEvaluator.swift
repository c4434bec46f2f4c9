/// Asks another evaluator and reports what it refuses, but refuses nothing: path validation still decides.
///
/// For trying pins out before they are enforced. What is refused goes to the ``TrustRule/observer``: with an `ApproovTrustManager`
/// into its violations and reports.
///
///     "payments.example.com": ReportOnlyTrustEvaluator(try PublicKeysTrustEvaluator(pins: pins))
public struct ReportOnlyTrustEvaluator: ServerTrustEvaluating {
    private let evaluator: any ServerTrustEvaluating

    /// Makes the evaluator.
    ///
    /// - Parameter evaluator: What is asked, and not obeyed. A ``DisabledTrustEvaluator`` disables nothing in here.
    public init(_ evaluator: any ServerTrustEvaluating) {
        self.evaluator = evaluator
    }

    /// What the other evaluator wants, but for roots: these would refuse.
    public var conditions: TrustConditions {
        var conditions = evaluator.conditions
        conditions.anchors = nil
        conditions.acceptsSelfSignedServer = false
        return conditions
    }

    /// Trusts, and says what the other evaluator would have refused.
    ///
    /// Look-ups are not made: they would cost a connection that is not to be refused. What needs them is trusted, and reported as what
    /// could not be judged.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        switch evaluator.evaluate(trust, forHost: host) {
        case .trusted: .trusted
        case .needs(let lookups):
            .reported(
                TrustRefusal(
                    .lookupsUnavailable, trust: trust,
                    detail: "\(lookups.count) OCSP responses or CRLs would decide, and are not looked up for what is only reported; let the"
                        + " server staple, or enforce the rule"))
        case .refused(let refusal), .reported(let refusal): .reported(refusal)
        }
    }
}
