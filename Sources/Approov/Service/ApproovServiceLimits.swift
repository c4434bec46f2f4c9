/// Bounds of a service.
public struct ApproovServiceLimits: Sendable, Hashable {
    /// The most tokens kept; the one not used for the longest time goes first.
    public var cachedTokens = 10_000
    /// How long one exchange with the authority may take.
    public var exchangeTimeout: Duration = .seconds(15)
    /// How long a fetch, with all its exchanges, may take: nobody waits longer for a token.
    public var fetchTimeout: Duration = .seconds(30)
    /// How often at most the authority is asked for a newer configuration because a server's pins did not match.
    public var configurationCheckInterval: Duration = .seconds(5)

    /// The bounds above.
    public init() {}
}
