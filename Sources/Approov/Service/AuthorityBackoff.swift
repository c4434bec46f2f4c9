import Synchronization

/// Leaves an authority alone that does not work, whatever tokens are asked for.
///
/// The token cache spaces the refreshes of tokens that it has. Without a token every request would ask the authority anew, and a busy app
/// would keep one down that is coming up again.
///
/// Only answers count that no authority in working order gives: 5xx, garbage. An unreachable one or a poor network delays nothing, so that
/// the first request after the network came back goes through, and 429 and 503 with Retry-After say themselves how long to wait.
final class AuthorityBackoff: Sendable {
    private struct State {
        var failures = 0
        var until: Duration = .zero
        var cause: ApproovError?
    }

    private let state = Mutex(State())

    /// Refuses to ask the authority before its time.
    ///
    /// - Throws: ``AuthorityFailure`` with the status and the retryability of the failure that is waited out, which is the cause.
    func check(now: Duration) throws(AuthorityFailure) {
        let (until, cause) = state.withLock { ($0.until, $0.cause) }
        guard now < until else { return }
        var failure = AuthorityFailure(
            .noApproovService,
            ApproovError(
                .networkingError, "the authority did not work, and is asked again in \((until - now).components.seconds + 1) s; try then",
                cause: cause))
        failure.retryAfter = until - now
        throw failure
    }

    /// Notes how an attestation failed.
    func failed(_ failure: AuthorityFailure, now: Duration) {
        // It was the authority itself that refused: it works.
        if failure.problem != nil, failure.status != .noApproovService { return succeeded() }
        guard failure.status == .noApproovService, failure.retryAfter == nil else { return }
        state.withLock { state in
            // What was under way when the wait began failed together with it, and does not make it longer.
            guard now >= state.until else { return }
            state.failures += 1
            state.until = now + TokenCache.backoff(failures: state.failures)
            state.cause = failure.error
        }
    }

    /// Notes that the authority works.
    func succeeded() {
        state.withLock { $0 = State() }
    }
}
