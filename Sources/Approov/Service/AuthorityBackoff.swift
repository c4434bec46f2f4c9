import Synchronization

/// Stops asking a failing authority for a while, whatever token is wanted.
///
/// The token cache spaces the refreshes of the tokens it holds. Without a token, every request would ask the authority again, and a busy
/// app could keep a recovering authority down.
///
/// The pause begins at one second and doubles with every failure, up to ``AuthorityFailure/longestWait``:
/// - one minute after answers that no working authority gives: 5xx, 429 without Retry-After, or an answer in another format;
/// - eight seconds after an untrusted server, a TLS failure, a timeout, or a broken connection;
/// - no pause if the authority could not be reached, so that the first request after the network returns goes through.
///
/// 429 and 503 with Retry-After name the pause themselves; `AuthorityExchange` keeps to it.
final class AuthorityBackoff: Sendable {
    private struct State {
        var failures = 0
        var until: Duration = .zero
        var cause: AuthorityFailure?
    }

    private let state = Mutex(State())

    /// Throws while the authority must not be asked.
    ///
    /// - Throws: ``AuthorityFailure`` with the status of the failure that caused the pause, and that failure's error as its cause.
    func check(now: Duration) throws(AuthorityFailure) {
        let (until, cause) = state.withLock { ($0.until, $0.cause) }
        guard let cause, now < until else { return }
        // Keep the status: a caller that sends without a token while the authority is down must not do so after `mitmDetected`.
        var failure = AuthorityFailure(
            cause.status,
            ApproovError(
                cause.error.code,
                "asking the authority failed, and it is asked again in \((until - now).components.seconds + 1) s; try then",
                cause: cause.error))
        failure.retryAfter = until - now
        throw failure
    }

    /// Records a failed attestation.
    func failed(_ failure: AuthorityFailure, now: Duration) {
        // A refusal by the authority itself proves that it works.
        if failure.problem != nil, failure.status != .noApproovService { return succeeded() }
        guard let longestWait = failure.longestWait, failure.retryAfter == nil else { return }
        state.withLock { state in
            // Attestations that were running when the pause began fail together and must not prolong it.
            guard now >= state.until else { return }
            state.failures += 1
            state.until = now + TokenCache.backoff(failures: state.failures, longest: longestWait)
            state.cause = failure
        }
    }

    /// Records that the authority works.
    func succeeded() {
        state.withLock { $0 = State() }
    }
}
