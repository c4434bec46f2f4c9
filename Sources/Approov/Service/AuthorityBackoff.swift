import ApproovBase
import Synchronization

/// Keeps the client from asking a failing authority too often: the one place that decides when the authority may be asked.
///
/// Without a token, every request would ask the authority again, and a busy app could keep a recovering authority down. After a failure,
/// attestations therefore pause, whatever token is wanted. The pause begins at one second and doubles with every failure, up to
/// ``AuthorityFailure/longestWait``:
/// - one minute after answers that no working authority gives: 5xx, 429 without Retry-After, or an answer in another format;
/// - eight seconds after an untrusted server, a TLS failure, a timeout, or a broken connection;
/// - no pause if the authority could not be reached, so that the first request after the network returns goes through.
///
/// 429 and 503 with Retry-After name the pause themselves; it applies to everything that the authority is asked.
///
/// Background refreshes that failed are spaced in the same way, each token by its own failures, up to one minute.
final class AuthorityBackoff: Sendable {
    private let state = Mutex(AuthorityBackoffState())
    private let time: any TimeSource

    init(time: any TimeSource) {
        self.time = time
    }

    /// Throws while the authority must not be asked.
    ///
    /// - Parameter question: What the authority is asked for.
    /// - Throws: ``AuthorityFailure`` with the status of the failure that caused the pause, and that failure's error as its cause.
    func check(_ question: AuthorityBackoffState.Question) throws(AuthorityFailure) {
        let now = time.uptime
        if case .fail(let failure) = state.withLock({ $0.decide(question, now: now) }) { throw failure }
    }

    /// Records that the authority asked for a pause.
    func held(for pause: Duration) {
        let now = time.uptime
        state.withLock { $0.held(for: pause, now: now) }
    }

    /// Records that a token arrived.
    func succeeded() {
        state.withLock { $0.succeeded() }
    }

    /// Records that the fetch of a token failed.
    func failed(_ failure: AuthorityFailure) {
        let (now, jitter) = (time.uptime, Double.random(in: 0...1))
        state.withLock { $0.failed(failure, now: now, jitter: jitter) }
    }

    /// Returns the uptime from which the refresh of a token is tried again, after a number of failed refreshes in a row.
    func nextRefresh(afterFailures failures: Int) -> Duration {
        let (now, jitter) = (time.uptime, Double.random(in: 0...1))
        return state.withLock { $0.nextRefresh(afterFailures: failures, now: now, jitter: jitter) }
    }
}
