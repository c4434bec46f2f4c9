/// When the authority may be asked; a value without a clock, a lock or randomness.
///
/// Its methods change the state and return what the caller must do.
struct AuthorityBackoffState {
    /// The shortest pause before a refresh is tried again.
    static let shortestPause: Duration = .seconds(1)
    /// The longest pause that the client makes without being asked to.
    static let longestPause: Duration = .seconds(60)

    /// What the authority is asked for.
    enum Question {
        /// A token.
        case attestation
        /// Part of an attestation, or a configuration.
        case exchange
    }

    /// What the caller must do.
    enum Decision {
        /// Ask the authority.
        case ask
        /// Fail with this error, without asking.
        case fail(AuthorityFailure)
    }

    /// The failures in a row that the authority is responsible for.
    private var failures = 0
    /// The failure that caused the pause; nil without a pause.
    private var cause: AuthorityFailure?
    /// The end of the pause for attestations.
    private var pausedUntil: Duration = .zero
    /// The end of the pause that the authority asked for; it applies to every question.
    private var heldUntil: Duration = .zero

    /// Decides whether the authority is asked.
    ///
    /// - Parameters:
    ///   - question: What the authority is asked for.
    ///   - now: The uptime.
    /// - Returns: What to do. An error has the status of the failure that caused the pause.
    func decide(_ question: Question, now: Duration) -> Decision {
        if question == .attestation, let cause, now < pausedUntil {
            // Keep the status: a caller that sends without a token while the authority is down must not do so after `mitmDetected`.
            let message = "the last request to the authority failed; retry in \(Self.seconds(pausedUntil - now)) s"
            var failure = AuthorityFailure(cause.status, ApproovError(cause.error.code, message, cause: cause.error))
            failure.retryAfter = pausedUntil - now
            return .fail(failure)
        }
        guard now < heldUntil else { return .ask }
        let message = "the authority is busy; retry in \(Self.seconds(heldUntil - now)) s"
        var failure = AuthorityFailure(.noApproovService, ApproovError(.networkingError, message))
        failure.retryAfter = heldUntil - now
        return .fail(failure)
    }

    /// Call when the authority asked for a pause, with Retry-After.
    ///
    /// - Parameters:
    ///   - pause: The pause.
    ///   - now: The uptime.
    mutating func held(for pause: Duration, now: Duration) {
        heldUntil = max(heldUntil, now + pause)
    }

    /// Call when a token arrived.
    mutating func succeeded() {
        // The authority knows best how long it is busy.
        let held = heldUntil
        self = Self()
        heldUntil = held
    }

    /// Call when the fetch of a token failed.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - now: The uptime.
    ///   - jitter: A random number from 0 to 1, so that many clients do not come back at once.
    mutating func failed(_ failure: AuthorityFailure, now: Duration, jitter: Double) {
        if failure.problem != nil, failure.status != .noApproovService {
            // A refusal by the authority itself proves that it works.
            (failures, cause, pausedUntil) = (0, nil, .zero)
        } else if let longest = failure.longestWait, failure.retryAfter == nil, now >= pausedUntil {
            // Fetches that were running when the pause began fail together and must not prolong it.
            failures += 1
            pausedUntil = now + Self.pause(after: failures, longest: longest, jitter: jitter)
            cause = failure
        }
    }

    /// Returns the uptime from which the refresh of a token is tried again.
    ///
    /// - Parameters:
    ///   - failures: The failed refreshes of this token in a row: the authority may refuse one token and give others.
    ///   - now: The uptime.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: The uptime, after every pause of the authority.
    func nextRefresh(afterFailures failures: Int, now: Duration, jitter: Double) -> Duration {
        max(now + Self.pause(after: failures, longest: Self.longestPause, jitter: jitter), pausedUntil, heldUntil)
    }

    /// Returns the pause after a number of failures in a row: 1 s, doubled with every failure up to `longest`, then randomised.
    ///
    /// The random factor is between one half and one. The result is at least 1 s.
    static func pause(after failures: Int, longest: Duration, jitter: Double) -> Duration {
        let full = min(longest / .seconds(1), Double(1 << min(max(failures - 1, 0), 6)))
        return max(shortestPause, .seconds(full * (0.5 + jitter / 2)))
    }

    private static func seconds(_ duration: Duration) -> Int64 { duration.components.seconds + 1 }
}
