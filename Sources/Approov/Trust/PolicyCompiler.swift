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
        for host in protectedHosts { pinned.insert(host, for: host.pattern) }
        var own = PatternTable<OwnRule>()
        for (pattern, evaluator) in evaluators { own.insert(OwnRule(pattern: pattern, evaluator: evaluator), for: pattern) }

        let rules = try pinned.patterns.union(own.patterns).compactMap { text -> (HostPattern, TrustRule)? in
            let (protected, evaluated) = (pinned.value(around: text), own.value(around: text))
            guard let rule = rule(for: text, pinned: protected, own: evaluated) else { return nil }
            // What is excluded from the caller's pattern is still protected where the account's holds it.
            let exclusions = protected == nil ? own.exclusions(of: text) : []
            return (try HostPattern(text, excluding: exclusions.sorted(), allowingPublicSuffix: true), rule)
        }
        if let flaw = rules.lazy.compactMap(\.1.flaw).first { throw flaw }
        return TrustPolicy(rules: try HostMap(rules), defaultAnchors: anchors, refusesUnmatchedHosts: refusesUnmatchedHosts)
    }

    /// What the caller asks for.
    private struct OwnRule {
        let pattern: HostPattern
        let evaluator: any ServerTrustEvaluating
    }

    /// The rule of a pattern; nil for what was only excluded from others.
    private func rule(for pattern: String, pinned: ProtectedHost?, own: OwnRule?) -> TrustRule? {
        guard let pinned else {
            return own.map { own in
                TrustRule(evaluators: [own.evaluator], observer: recorder.observer(for: NotedHost(pattern: own.pattern)))
            }
        }
        var evaluators = pinned.rule.evaluators
        if own?.evaluator is DisabledTrustEvaluator {
            logger.error(
                "DisabledTrustEvaluator ignored: the host is protected and stays pinned; remove the evaluator",
                metadata: ["host": "\(pattern)"])
        } else if let own {
            evaluators.append(own.evaluator)
        }
        return TrustRule(evaluators: evaluators, anchors: pinned.rule.anchors, observer: recorder.observer(for: NotedHost(pinned)))
    }
}
