/// Reports the refusals of another evaluator without enforcing them: path validation still decides.
///
/// Use it to try pins before you enforce them. The ``TrustRule/observer`` receives the refusals; with an `ApproovTrustManager` they
/// appear in its violations and reports.
///
///     "payments.example.com": ReportOnlyTrustEvaluator(try PublicKeysTrustEvaluator(pins: pins))
public struct ReportOnlyTrustEvaluator: ServerTrustEvaluating {
    private let evaluator: any ServerTrustEvaluating

    /// Makes the evaluator.
    ///
    /// - Parameter evaluator: The evaluator to ask. A ``DisabledTrustEvaluator`` disables nothing in here.
    public init(_ evaluator: any ServerTrustEvaluating) {
        self.evaluator = evaluator
    }

    /// The other evaluator's conditions without its roots, because roots can refuse a server.
    public var conditions: TrustConditions {
        var conditions = evaluator.conditions
        conditions.anchors = nil
        conditions.acceptsSelfSignedServer = false
        return conditions
    }

    /// Trusts the server, and reports if the other evaluator refuses it.
    ///
    /// It makes no look-ups: they would need another connection, only to trust the server in any case. A server that needs look-ups is
    /// trusted, and reported as one that could not be judged.
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        switch evaluator.evaluate(trust, forHost: host).checked(for: trust) {
        case .trusted: .trusted
        case .needs(let lookups):
            .reported(
                TrustRefusal(
                    .lookupsUnavailable, trust: trust,
                    detail: "the rule needs \(lookups.count) OCSP responses or CRLs, which are not looked up for a rule that only reports;"
                        + " let the server staple a response, or enforce the rule"))
        case .refused(let refusal), .reported(let refusal): .reported(refusal)
        }
    }
}
