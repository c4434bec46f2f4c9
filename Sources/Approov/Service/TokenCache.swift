import ApproovBase
import Attestation
import Synchronization

/// Hands out tokens, from the cache or from a fetch that all callers of the same token share.
///
/// Used tokens are refreshed in the background at half their lifetime, so after the first fetch no request waits.
final class TokenCache: Sendable {
    private typealias State = TokenCacheState<CheckedContinuation<TokenFetchResult, Never>>

    /// The single sleeping task that wakes up for the next refresh.
    private struct Alarm {
        var at: Duration
        var task: Task<Void, Never>
    }

    private let state: Mutex<State>
    private let alarm = Mutex<Alarm?>(nil)
    private let time: any TimeSource
    private let backoff: AuthorityBackoff
    private let fetchTimeout: Duration
    private let fetch: @Sendable (TokenKey) async -> TokenFetchOutcome

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The most tokens it keeps.
    ///   - fetchTimeout: The time after which a fetch counts as failed, whatever it is doing; no caller waits longer.
    ///   - time: The clock.
    ///   - backoff: Decides when a refresh that failed is tried again.
    ///   - fetch: Fetches a token.
    init(
        capacity: Int, fetchTimeout: Duration, time: any TimeSource, backoff: AuthorityBackoff,
        fetch: @escaping @Sendable (TokenKey) async -> TokenFetchOutcome
    ) {
        state = Mutex(State(capacity: capacity))
        self.time = time
        self.backoff = backoff
        self.fetchTimeout = fetchTimeout
        self.fetch = fetch
    }

    deinit {
        alarm.withLock { $0?.task.cancel() }
    }

    /// The number of tokens in the cache.
    var count: Int { state.withLock { $0.count } }

    /// The number of waiting callers.
    var waiterCount: Int { state.withLock { $0.waiterCount } }

    /// Whether no fetch is running.
    var isIdle: Bool { state.withLock { $0.flightCount == 0 } }

    /// Returns the token if the cache has it, and starts a refresh when one is due; takes one lock.
    func cached(_ key: TokenKey) -> TokenFetchResult? {
        let now = time.uptime
        guard case .hit(let result, let refresh) = state.withLock({ $0.hit(key, now: now) }) else { return nil }
        if let refresh { launch(refresh) }
        return result
    }

    /// Returns the token from the cache, or waits for a fetch.
    ///
    /// A cancelled caller stops waiting; the fetch continues for the others.
    func token(for key: TokenKey) async -> TokenFetchResult {
        if let result = cached(key) { return result }
        let id = state.withLock { $0.newID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = time.uptime
                switch state.withLock({ $0.enlist(continuation, id: id, for: key, now: now) }) {
                case .hit(let result, let refresh):
                    if let refresh { launch(refresh) }
                    continuation.resume(returning: result)
                case .waiting(let start):
                    if let start { launch(start) }
                    // The cancellation handler may have run before the waiter was enlisted.
                    if Task.isCancelled { withdraw(id, key) }
                }
            }
        } onCancel: {
            withdraw(id, key)
        }
    }

    /// Starts a fetch in the background, unless the token is fresh or a fetch is running.
    func prefetch(_ key: TokenKey) {
        let now = time.uptime
        if let start = state.withLock({ $0.prefetch(key, now: now) }) { launch(start) }
    }

    /// Drops tokens; fetches that are running for them answer their callers, but bring no token into the cache.
    ///
    /// - Parameter isForgotten: Whether the token with this key is dropped.
    /// - Returns: The number of dropped tokens.
    func forget(where isForgotten: @Sendable (TokenKey) -> Bool) -> Int { state.withLock { $0.forget(where: isForgotten) } }

    /// Drops the token with this key; a fetch that is running for it brings no token into the cache.
    func forget(_ key: TokenKey) { state.withLock { $0.forget(key) } }

    /// Drops one token, unless a newer one has taken its place.
    func forget(_ token: String, for key: TokenKey) { state.withLock { $0.forget(token, for: key) } }

    private func withdraw(_ id: UInt64, _ key: TokenKey) {
        let waiter = state.withLock { $0.withdraw(id: id, for: key) }
        waiter?.resume(returning: TokenFetchResult(status: .poorNetwork, error: .waitCancelled))
    }

    private func launch(_ start: State.Start) {
        // Detached: the fetch belongs to all its waiters and must not inherit anything from the first one's task.
        let work = Task.detached { [fetch] in await fetch(start.key) }
        // If the fetch hangs, its waiters must not: after the deadline it counts as failed, and its late result is dropped.
        let deadline = Task.detached { [self] in
            guard (try? await time.sleep(for: fetchTimeout)) != nil else { return }
            // Land before cancelling: otherwise the cancelled fetch could land its own outcome first.
            // The back-off learns of it from the cancelled exchange: an attester that hangs is no failure of the authority.
            land(start, .failure(TokenFetchResult(AuthorityFailure(.poorNetwork, .fetchTimedOut))))
            work.cancel()
        }
        Task.detached { [self] in
            let outcome = await work.value
            deadline.cancel()
            land(start, outcome)
        }
    }

    private func land(_ start: State.Start, _ outcome: TokenFetchOutcome) {
        let now = time.uptime
        let (completion, result) = state.withLock { state in
            switch outcome {
            case .token(let result, let lifetime, let since):
                let earliness = Double.random(in: 0...1)
                let completion = state.succeeded(
                    result, lifetime: lifetime, since: since, earliness: earliness, for: start, now: now)
                return (completion, result)
            case .failure(let result):
                return (state.failed(start, now: now, refreshAt: backoff.nextRefresh(afterFailures:)), result)
            }
        }
        for waiter in completion.waiters { waiter.resume(returning: result) }
        for start in completion.starts { launch(start) }
        setAlarm()
    }

    /// Schedules the wake-up for the next refresh.
    private func setAlarm() {
        guard let due = state.withLock({ $0.nextDue }) else { return }
        alarm.withLock { alarm in
            if let alarm, alarm.at <= due { return }
            alarm?.task.cancel()
            // Weak, so that a sleeping alarm does not keep an unused cache alive.
            let task = Task.detached { [weak self, time] in
                // Compute the delay here: the task may start later than it was made.
                guard (try? await time.sleep(for: max(.zero, due - time.uptime))) != nil else { return }
                self?.ring()
            }
            alarm = Alarm(at: due, task: task)
        }
    }

    private func ring() {
        alarm.withLock { $0 = nil }
        let now = time.uptime
        for start in state.withLock({ $0.startDue(now: now) }) { launch(start) }
        setAlarm()
    }
}

extension ApproovError {
    static var waitCancelled: ApproovError {
        ApproovError(.networkingError, "the wait for a token was cancelled", cause: CancellationError())
    }

    static var fetchTimedOut: ApproovError {
        ApproovError(.networkingError, "the authority did not give a token in time; try again later")
    }
}
