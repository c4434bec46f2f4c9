/// What a keyset signs.
public enum KeysetUse: String, Sendable, Hashable, CaseIterable {
    /// The tokens of the hosts that name it.
    case token
    /// Custom JWTs, and no tokens.
    case custom
}
