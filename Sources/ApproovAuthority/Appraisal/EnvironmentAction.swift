/// The effect of an environment flag on the verdict.
public enum EnvironmentAction: String, Sendable, Hashable, CaseIterable {
    /// The evidence is rejected.
    case reject
    /// The token's `anno` names the flag.
    case annotate
    /// The flag has no effect.
    case ignore
}
