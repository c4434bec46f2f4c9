import CertificatePinning
import Logging

/// Makes one trust policy out of the account's hosts and the caller's evaluators.
///
/// A protected host's pins always apply and come first; the caller's evaluator for the same host is asked after them. A
/// `DisabledTrustEvaluator` has no effect on a protected host.
struct PolicyCompiler {
    let evaluators: [(HostPattern, any ServerTrustEvaluating)]
    let refusesUnmatchedHosts: Bool
    let anchors: TrustAnchors
    let recorder: ViolationRecorder
    let logger: Logger

    /// Compiles.
    ///
    /// - Throws: `PinningError` when two of the evaluators' patterns claim the same hosts, or an evaluator was configured wrongly.
    func policy(protecting protectedHosts: [ProtectedHost]) throws -> TrustPolicy {
        // On their own first: two evaluators for one host are the caller's mistake, and must not be merged silently.
        _ = try HostMap(evaluators.map { ($0.0, true) })
        var pinned = PatternTable<ProtectedHost>()
        for host in protectedHosts {
            for text in host.patternTexts { pinned[text] = host }
        }
        var own = PatternTable<any ServerTrustEvaluating>()
        for (pattern, evaluator) in evaluators { own[pattern.description] = evaluator }

        let rules = try Set(pinned.patterns).union(own.patterns).map { text in
            (
                try HostPattern(text, allowingPublicSuffix: true),
                rule(for: text, pinned: pinned.value(around: text), own: own.value(around: text))
            )
        }
        if let flaw = rules.lazy.compactMap(\.1.flaw).first { throw flaw }
        return TrustPolicy(rules: try HostMap(rules), defaultAnchors: anchors, refusesUnmatchedHosts: refusesUnmatchedHosts)
    }

    private func rule(for pattern: String, pinned: ProtectedHost?, own: (any ServerTrustEvaluating)?) -> TrustRule {
        guard let pinned else {
            return TrustRule(evaluators: own.map { [$0] } ?? [], observer: recorder.observer(for: NotedHost(pattern: pattern)))
        }
        var evaluators = pinned.rule.evaluators
        if own is DisabledTrustEvaluator {
            logger.error(
                "DisabledTrustEvaluator ignored: the host is protected and stays pinned; remove the evaluator",
                metadata: ["host": "\(pattern)"])
        } else if let own {
            evaluators.append(own)
        }
        return TrustRule(evaluators: evaluators, anchors: pinned.rule.anchors, observer: recorder.observer(for: NotedHost(pinned)))
    }
}
