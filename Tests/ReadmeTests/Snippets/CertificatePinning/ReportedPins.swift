import CertificatePinning

func rule(pins: Set<Pin>, isEnforced: Bool, report: @escaping @Sendable (TrustViolation) -> Void) throws -> TrustRule {
    let pinned = try PublicKeysTrustEvaluator(pins: pins)
    return TrustRule(evaluators: [isEnforced ? pinned : ReportOnlyTrustEvaluator(pinned)], observer: report)
}
