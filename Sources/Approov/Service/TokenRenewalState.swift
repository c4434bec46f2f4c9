/// Which tokens that an API rejected are replaced at once; a value without a clock or a lock.
///
/// An API may reject every token: its secret is stale, or the app's attestation fails. Then each request must not fetch a token.
///
/// ``ApproovService`` holds it under a lock.
struct TokenRenewalState {
    /// The age up to which a rejected token is not replaced, and the shortest time between two renewals for one host.
    static let shortestInterval: Duration = .seconds(30)
    /// The most hosts that are remembered; while all of them wait, no token of another host is replaced.
    static let maximumHosts = 256

    /// The last renewal for a host.
    private struct Renewal {
        var at: Duration
        /// The time until the next one.
        var interval: Duration
        /// Whether the API rejected the last new token, or has not answered yet.
        var isRejected: Bool
        /// When the life of the rejected token began; the answer to a newer one counts.
        var rejectedSince: Duration
    }

    private var renewals: [String: Renewal] = [:]

    /// The number of remembered hosts.
    var count: Int { renewals.count }

    /// Whether a host has not accepted the token of its last renewal yet.
    var isOpen: Bool { renewals.values.contains(where: \.isRejected) }

    /// Decides whether a rejected token is replaced, and if so, notes the renewal.
    ///
    /// Between two renewals for a host are at least 30 s. The time doubles with each renewal, up to the token's life, until
    /// ``accepted(_:life:)`` reports success.
    ///
    /// - Parameters:
    ///   - host: The host that rejected the token.
    ///   - life: The token's life.
    ///   - now: The uptime.
    /// - Returns: Whether to replace the token.
    mutating func renews(_ host: String, life: TokenLife, now: Duration) -> Bool {
        guard life.age(at: now) > Self.shortestInterval else { return false }
        var interval = Self.shortestInterval
        if let last = renewals[host] {
            guard now - last.at >= last.interval else { return false }
            if last.isRejected { interval = max(min(last.interval * 2, life.length), interval) }
        } else if renewals.count >= Self.maximumHosts {
            renewals = renewals.filter { now - $0.value.at < $0.value.interval }
            guard renewals.count < Self.maximumHosts else { return false }
        }
        renewals[host] = Renewal(at: now, interval: interval, isRejected: true, rejectedSince: life.since)
        return true
    }

    /// Notes that a host accepted a token; only one that is newer than the rejected token counts.
    mutating func accepted(_ host: String, life: TokenLife) {
        guard var renewal = renewals[host], renewal.rejectedSince < life.since else { return }
        renewal.interval = Self.shortestInterval
        renewal.isRejected = false
        renewals[host] = renewal
    }
}
