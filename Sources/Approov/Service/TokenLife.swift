/// When a token's life began and how long it is.
struct TokenLife: Sendable, Hashable {
    /// The uptime of the service's clock from which the lifetime counts.
    let since: Duration
    /// The lifetime.
    let length: Duration

    /// How old the token is.
    func age(at now: Duration) -> Duration { now - since }
}
