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
    /// How old the authority's last word about the configuration may be before a request that needs no token has it asked for again, in
    /// the background; the first such request does.
    public var configurationMaximumAge: Duration = .seconds(300)

    /// The bounds above.
    public init() {}
}
