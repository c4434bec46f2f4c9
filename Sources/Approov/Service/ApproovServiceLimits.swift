/// The bounds of a service.
public struct ApproovServiceLimits: Sendable, Hashable {
    /// The most tokens in the cache; the least recently used one is dropped first.
    public var cachedTokens = 10_000
    /// The longest time for one exchange with the authority.
    public var exchangeTimeout: Duration = .seconds(15)
    /// The longest time for a token fetch with all its exchanges; no caller waits longer.
    public var fetchTimeout: Duration = .seconds(30)
    /// The shortest interval between two questions for a newer configuration after a server's pins did not match.
    public var configurationCheckInterval: Duration = .seconds(5)
    /// The age at which the authority's last word about the configuration is stale.
    ///
    /// A request that needs no token then asks for a newer configuration in the background; so does the first such request.
    public var configurationMaximumAge: Duration = .seconds(300)

    /// Makes the default bounds.
    public init() {}
}
