/// The rules for the account's secure strings in memory; a value without clocks and locks.
///
/// The newest attestation decides: genuine evidence brings the strings, which live as long as the attestation, and any other takes them
/// away. ``SecureStrings`` holds it under its lock.
struct SecureStringState: Sendable {
    /// The longest time for which a rejection is remembered, so that an app which was registered meanwhile soon passes.
    static let longestRejection: Duration = .seconds(30)

    /// What the newest attestation found.
    enum Verdict: Sendable {
        /// No attestation is new enough to say.
        case unknown
        /// The app is genuine, and these are the account's strings.
        case genuine([String: String], TokenFetchResult)
        /// The app is not genuine.
        case rejected(TokenFetchResult)
    }

    private var verdict = Verdict.unknown
    private var since: Duration?
    private var end: Duration = .zero

    /// Takes up what an attestation brought, unless it began before the one noted last.
    ///
    /// - Parameters:
    ///   - strings: The account's strings; nil after evidence that is not genuine.
    ///   - result: The result of the attestation, without its token.
    ///   - life: When the life of the attestation began and how long it is.
    mutating func note(_ strings: [String: String]?, of result: TokenFetchResult, _ life: TokenLife) {
        if let since, life.since < since { return }
        since = life.since
        if let strings {
            // As a token about to expire is not sent, a string about to expire is not used.
            end = life.endOfUse
            verdict = .genuine(strings, result)
        } else {
            end = life.since + min(life.length, Self.longestRejection)
            verdict = .rejected(result)
        }
    }

    /// Returns what the newest attestation found, and drops the strings when its life is over.
    mutating func current(now: Duration) -> Verdict {
        if now >= end { verdict = .unknown }
        return verdict
    }
}
