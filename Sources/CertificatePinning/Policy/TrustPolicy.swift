internal import Synchronization

/// The immutable rules of all hosts.
///
/// Each policy is one generation, with its own pool of connections.
///
/// Each update of libpsl can add a public suffix between a pattern and hosts that it protects. Such a host must not lose its pins, so the
/// pattern's rule still holds, with two exceptions: the host sees no client certificate, and a ``DisabledTrustEvaluator`` has no effect. A
/// policy that refuses hosts without a rule refuses such a host.
public final class TrustPolicy: Sendable {
    // The only state that all policies of the process share: a counter that orders them by age.
    private static let lastGeneration = Atomic<UInt64>(0)
    private static let pathValidation = TrustRule(evaluators: [])

    /// The number of the policy: unique in the process, and higher than those of all earlier policies.
    public let generation: UInt64
    /// The roots of every host whose rule names none.
    public let defaultAnchors: TrustAnchors
    /// Whether a host without a rule is refused; otherwise path validation alone decides.
    public let refusesUnmatchedHosts: Bool
    private let rules: HostMap<TrustRule>

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - rules: The rules by host.
    ///   - defaultAnchors: The roots of every host whose rule names none.
    ///   - refusesUnmatchedHosts: Whether a host without a rule is refused; otherwise path validation alone decides.
    public init(rules: HostMap<TrustRule>, defaultAnchors: TrustAnchors, refusesUnmatchedHosts: Bool = false) {
        generation = Self.lastGeneration.wrappingAdd(1, ordering: .relaxed).newValue
        self.rules = rules
        self.defaultAnchors = defaultAnchors
        self.refusesUnmatchedHosts = refusesUnmatchedHosts
    }

    /// Whether the policy has a rule for the host.
    public func hasRule(for host: CanonicalHost) -> Bool { find(host) != nil }

    private func find(_ host: CanonicalHost) -> TrustRule? {
        guard let found = rules.covering(host) else { return nil }
        guard found.isSeparated else { return found.value }
        return refusesUnmatchedHosts ? nil : found.value.acrossPublicSuffix
    }

    /// The rule of the host; for a host without one, a rule of path validation alone.
    ///
    /// - Parameter host: The host.
    /// - Returns: The rule.
    /// - Throws: ``TrustRefusal`` with reason `hostNotEvaluated` when the policy refuses hosts without a rule, or `evaluatorFailed` when
    ///   the evaluators of the host were configured wrongly.
    public func rule(for host: CanonicalHost) throws(TrustRefusal) -> TrustRule {
        if let rule = find(host) {
            if let flaw = rule.flaw { throw TrustRefusal(.evaluatorFailed, host: host.name, detail: flaw.description) }
            return rule
        }
        guard !refusesUnmatchedHosts else {
            throw TrustRefusal(
                .hostNotEvaluated, host: host.name,
                detail: "every host must have a rule, and this one has none; add an evaluator or pins for it")
        }
        return Self.pathValidation
    }
}
