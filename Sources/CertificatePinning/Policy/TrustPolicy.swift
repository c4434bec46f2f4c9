internal import Synchronization

/// The immutable rules of all hosts.
///
/// Each policy is one generation, with its own pool of connections.
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
    public func hasRule(for host: CanonicalHost) -> Bool { rules.value(for: host) != nil }

    /// The rule of the host; for a host without one, a rule of path validation alone.
    ///
    /// - Parameter host: The host.
    /// - Returns: The rule.
    /// - Throws: ``TrustRefusal`` with reason `hostNotEvaluated` when the policy refuses hosts without a rule, or `evaluatorFailed` when
    ///   the evaluators of the host were configured wrongly.
    public func rule(for host: CanonicalHost) throws(TrustRefusal) -> TrustRule {
        if let rule = rules.value(for: host) {
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
