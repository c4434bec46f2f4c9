/// When a token's life began and how long it is.
struct TokenLife: Sendable, Hashable {
    /// The uptime of the service's clock from which the lifetime counts.
    let since: Duration
    /// The lifetime.
    let length: Duration

    /// How long before its end a token is no longer sent, because it would expire on the way to the API.
    ///
    /// A tenth of its life, but at most 5 seconds.
    static func margin(of length: Duration) -> Duration { min(.seconds(5), length / 10) }

    /// The uptime from which the token is no longer sent.
    var endOfUse: Duration { since + length - Self.margin(of: length) }

    /// How old the token is.
    func age(at now: Duration) -> Duration { now - since }
}
