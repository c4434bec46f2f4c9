import CertificatePinning

func policy(paymentPins: Set<Pin>, intranetRoots: TrustAnchors) throws -> TrustPolicy {
    let payments = TrustRule(evaluators: [
        try PublicKeysTrustEvaluator(pins: paymentPins), RevocationTrustEvaluator(sources: [.stapledResponse, .ocsp]),
    ])
    let intranet = TrustRule(evaluators: [DefaultTrustEvaluator()], anchors: intranetRoots)
    let rules = try HostMap([
        (HostPattern("payments.example.com"), payments),
        (HostPattern("corp.example.com", includeSubdomains: true, excluding: ["guests.corp.example.com"]), intranet),
    ])
    return TrustPolicy(rules: rules, defaultAnchors: try TrustAnchors.system(), refusesUnmatchedHosts: true)
}
