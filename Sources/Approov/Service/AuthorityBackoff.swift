import Synchronization

/// Leaves an authority alone that does not work, whatever tokens are asked for.
///
/// The token cache spaces the refreshes of tokens that it has. Without a token every request would ask the authority anew, and a busy app
/// would keep one down that is coming up again.
///
/// How long depends on the kind of failure (``AuthorityFailure/longestWait``), and doubles from one second on:
/// - up to a minute after answers that no authority in working order gives: 5xx, garbage;
/// - up to eight seconds after a server that is not trusted, an abort in TLS, silence, and connections and answers that break off;
/// - not at all after one that could not be reached, so that the first request after the network came back goes through.
///
/// 429 and 503 with Retry-After say themselves how long to wait.
final class AuthorityBackoff: Sendable {
    private struct State {
        var failures = 0
        var until: Duration = .zero
        var cause: AuthorityFailure?
    }

    private let state = Mutex(State())

    /// Refuses to ask the authority before its time.
    ///
    /// - Throws: ``AuthorityFailure`` with the status and the retryability of the failure that is waited out, which is the cause.
    func check(now: Duration) throws(AuthorityFailure) {
        let (until, cause) = state.withLock { ($0.until, $0.cause) }
        guard let cause, now < until else { return }
        // With the status as it was: whoever sends without a token while the authority is down must not do so before an impostor.
        var failure = AuthorityFailure(
            cause.status,
            ApproovError(
                cause.error.code,
                "asking the authority failed, and it is asked again in \((until - now).components.seconds + 1) s; try then",
                cause: cause.error))
        failure.retryAfter = until - now
        throw failure
    }

    /// Notes how an attestation failed.
    func failed(_ failure: AuthorityFailure, now: Duration) {
        // It was the authority itself that refused: it works.
        if failure.problem != nil, failure.status != .noApproovService { return succeeded() }
        guard let longestWait = failure.longestWait, failure.retryAfter == nil else { return }
        state.withLock { state in
            // What was under way when the wait began failed together with it, and does not make it longer.
            guard now >= state.until else { return }
            state.failures += 1
            state.until = now + TokenCache.backoff(failures: state.failures, longest: longestWait)
            state.cause = failure
        }
    }

    /// Notes that the authority works.
    func succeeded() {
        state.withLock { $0 = State() }
    }
}
