import CertificatePinning
import Logging

/// Combines the account's hosts and the caller's evaluators into one trust policy.
///
/// A protected host's pins always apply and are checked first; then the caller's evaluator for the host is asked, even if a public suffix
/// separates the host from its pattern. A `DisabledTrustEvaluator` has no effect on a protected host.
struct PolicyCompiler {
    let evaluators: [(HostPattern, any ServerTrustEvaluating)]
    let refusesUnmatchedHosts: Bool
    let anchors: TrustAnchors
    let recorder: ViolationRecorder
    let logger: Logger

    /// Makes the policy.
    ///
    /// - Throws: `PinningError` when two evaluators' patterns name the same hosts, or an evaluator's own settings are wrong.
    func policy(protecting protectedHosts: [ProtectedHost]) throws -> TrustPolicy {
        // Check the evaluators alone first: two for one host are the caller's mistake and must not be merged silently.
        _ = try HostMap(evaluators.map { ($0.0, true) })
        var pinned = PatternTable<ProtectedHost>()
        for host in protectedHosts { pinned.insert(host, for: host.pattern) }
        var own = PatternTable<OwnRule>()
        for (pattern, evaluator) in evaluators { own.insert(OwnRule(pattern: pattern, evaluator: evaluator), for: pattern) }

        let rules = try pinned.patterns.union(own.patterns).compactMap { text -> (HostPattern, TrustRule)? in
            let evaluated = own.value(around: text)
            // An update of the public suffix list must not lift pins where the caller has an evaluator. Without one, the policy itself
            // refuses or pins the host: an entry for an exclusion would admit it.
            let protected = pinned.value(around: text, crossesPublicSuffixes: evaluated != nil || !refusesUnmatchedHosts)
            // Nor must an entry of the account lift the pins that the caller's wider pattern gives a host across a public suffix.
            let distant = evaluated == nil && protected != nil ? own.value(around: text, crossesPublicSuffixes: true) : nil
            let enforced = distant.flatMap { $0.evaluator is DisabledTrustEvaluator ? nil : $0 }
            guard var rule = rule(for: text, pinned: protected, own: evaluated ?? enforced) else { return nil }
            if enforced != nil, let across = rule.acrossPublicSuffix { rule = across }
            // A host that the caller's pattern excludes stays protected if the account's pattern contains it.
            let exclusions = protected == nil ? own.exclusions(of: text) : []
            return (try HostPattern(text, excluding: exclusions.sorted(), allowingPublicSuffix: true), rule)
        }
        if let flaw = rules.lazy.compactMap(\.1.flaw).first { throw flaw }
        return TrustPolicy(rules: try HostMap(rules), defaultAnchors: anchors, refusesUnmatchedHosts: refusesUnmatchedHosts)
    }

    /// One of the caller's evaluators and its pattern.
    private struct OwnRule {
        let pattern: HostPattern
        let evaluator: any ServerTrustEvaluating
    }

    /// The rule for a pattern; nil if the pattern is only an exclusion from others.
    private func rule(for pattern: String, pinned: ProtectedHost?, own: OwnRule?) -> TrustRule? {
        guard let pinned else {
            return own.map { own in
                TrustRule(evaluators: [own.evaluator], observer: recorder.observer(for: PinViolation.ObservedHost(pattern: own.pattern)))
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
        return TrustRule(
            evaluators: evaluators, anchors: pinned.rule.anchors, observer: recorder.observer(for: PinViolation.ObservedHost(pinned)))
    }
}
