internal import Metrics

/// Counts the authority's verdicts and refusals (swift-metrics); no label identifies an app.
struct AuthorityMetrics: Sendable {
    private let trusted = Counter(label: "approov_authority_attestations", dimensions: [("verdict", "trusted")])
    private let rejected = Counter(label: "approov_authority_attestations", dimensions: [("verdict", "rejected")])
    private let refused = Counter(label: "approov_authority_refused")
    private let latency = Timer(label: "approov_authority_attestation_duration")

    func judged(_ verdict: EvidenceAppraiser.Verdict) {
        (verdict.isTrusted ? trusted : rejected).increment()
    }

    func refusedUnjudged() {
        refused.increment()
    }

    func took(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        latency.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
