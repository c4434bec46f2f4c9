internal import Synchronization

/// The rules of all hosts, frozen.
///
/// One object is one generation, and one generation is one pool of connections.
public final class TrustPolicy: Sendable {
    // The one thing shared by all policies of the process: a number that says which of two is the newer one, and nothing else.
    private static let lastGeneration = Atomic<UInt64>(0)
    private static let pathValidation = TrustRule(evaluators: [])

    /// The number of the policy: unique in the process, and higher than those of the policies made before.
    public let generation: UInt64
    /// The roots of every host whose rule has none of its own.
    public let defaultAnchors: TrustAnchors
    /// Whether a host without a rule is refused instead of validated by path alone.
    public let refusesUnmatchedHosts: Bool
    private let rules: HostMap<TrustRule>

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - rules: The rules by host.
    ///   - defaultAnchors: The roots of every host whose rule has none of its own.
    ///   - refusesUnmatchedHosts: Whether a host without a rule is refused instead of validated by path alone.
    public init(rules: HostMap<TrustRule>, defaultAnchors: TrustAnchors, refusesUnmatchedHosts: Bool = false) {
        generation = Self.lastGeneration.wrappingAdd(1, ordering: .relaxed).newValue
        self.rules = rules
        self.defaultAnchors = defaultAnchors
        self.refusesUnmatchedHosts = refusesUnmatchedHosts
    }

    /// Whether a rule is for the host.
    public func hasRule(for host: CanonicalHost) -> Bool { rules.value(for: host) != nil }

    /// The rule of the host; one without a rule of its own gets path validation alone.
    ///
    /// - Throws: ``TrustRefusal`` `hostNotEvaluated` when the policy refuses hosts without a rule, `evaluatorFailed` when an evaluator of
    ///   the host was configured wrongly.
    public func rule(for host: CanonicalHost) throws(TrustRefusal) -> TrustRule {
        if let rule = rules.value(for: host) {
            if let flaw = rule.flaw { throw TrustRefusal(.evaluatorFailed, host: host.name, detail: flaw.description) }
            return rule
        }
        guard !refusesUnmatchedHosts else {
            throw TrustRefusal(
                .hostNotEvaluated, host: host.name,
                detail: "every host must be evaluated and no rule is for this one: add an evaluator or pins for it")
        }
        return Self.pathValidation
    }
}
