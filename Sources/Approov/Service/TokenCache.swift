import ApproovBase
import Attestation
import Synchronization

/// What a fetch of a token ended with.
enum TokenFetchOutcome: Sendable {
    /// A token, good for `lifetime` from `since` on.
    case token(TokenFetchResult, lifetime: Duration, since: Duration)
    /// None; `retryAfter` when the authority asked to be left alone for a while.
    case failure(TokenFetchResult, retryAfter: Duration?)
}

/// Gives out tokens: at once where there is one, otherwise from one fetch that all who want the same token share.
///
/// Tokens that are in use are fetched anew in the background at half their life, so that after the first no request waits.
final class TokenCache: Sendable {
    private typealias State = TokenCacheState<CheckedContinuation<TokenFetchResult, Never>>

    /// The one sleeping task that wakes for the next refresh.
    private struct Alarm {
        var at: Duration
        var task: Task<Void, Never>
    }

    private let state: Mutex<State>
    private let alarm = Mutex<Alarm?>(nil)
    private let time: any TimeSource
    private let fetchTimeout: Duration
    private let fetch: @Sendable (TokenKey) async -> TokenFetchOutcome

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The most tokens.
    ///   - fetchTimeout: After how long a fetch counts as failed, whatever it is doing: nobody waits longer.
    ///   - time: Where the time comes from.
    ///   - fetch: Gets a token.
    init(
        capacity: Int, fetchTimeout: Duration, time: any TimeSource, fetch: @escaping @Sendable (TokenKey) async -> TokenFetchOutcome
    ) {
        state = Mutex(State(capacity: capacity))
        self.time = time
        self.fetchTimeout = fetchTimeout
        self.fetch = fetch
    }

    deinit {
        alarm.withLock { $0?.task.cancel() }
    }

    /// The number of tokens.
    var count: Int { state.withLock { $0.count } }

    /// The number of callers that wait.
    var waiterCount: Int { state.withLock { $0.waiterCount } }

    /// Whether no fetch is under way.
    var isIdle: Bool { state.withLock { $0.flightCount == 0 } }

    /// The token, if it is there: costs one lock.
    func cached(_ key: TokenKey) -> TokenFetchResult? {
        let now = time.uptime
        guard case .hit(let result, let refresh) = state.withLock({ $0.hit(key, now: now) }) else { return nil }
        if let refresh { launch(refresh) }
        return result
    }

    /// The token, waited for when it is not there.
    ///
    /// A caller that is cancelled stops waiting; the fetch goes on for the others.
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
                    // The handler may have run before there was anything to withdraw.
                    if Task.isCancelled { withdraw(id, key) }
                }
            }
        } onCancel: {
            withdraw(id, key)
        }
    }

    /// Starts a fetch that nobody waits for, unless there is a fresh token or a fetch already.
    func prefetch(_ key: TokenKey) {
        let now = time.uptime
        if let start = state.withLock({ $0.prefetch(key, now: now) }) { launch(start) }
    }

    private func withdraw(_ id: UInt64, _ key: TokenKey) {
        let waiter = state.withLock { $0.withdraw(id: id, for: key) }
        waiter?.resume(returning: TokenFetchResult(status: .poorNetwork, error: .waitCancelled))
    }

    private func launch(_ start: State.Start) {
        // Detached: a fetch belongs to all its waiters and takes nothing over from the one that came first.
        let work = Task.detached { [fetch] in await fetch(start.key) }
        // Whatever hangs, the waiters do not: after the deadline the fetch counts as failed and its late result is dropped.
        let deadline = Task.detached { [self] in
            guard (try? await time.sleep(for: fetchTimeout)) != nil else { return }
            // First: a fetch that ends because it is cancelled must not land its own outcome before the deadline's.
            land(start, .failure(TokenFetchResult(status: .poorNetwork, error: .fetchTimedOut), retryAfter: nil))
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
            case .failure(let result, let retryAfter):
                let completion = state.failed(start, now: now) { max(Self.backoff(failures: $0), retryAfter ?? .zero) }
                return (completion, result)
            }
        }
        for waiter in completion.waiters { waiter.resume(returning: result) }
        for start in completion.starts { launch(start) }
        setAlarm()
    }

    /// 1 s, doubled with every failure up to the longest, and then a random part of at least half of it: many clients must not come back
    /// at once.
    static func backoff(failures: Int, longest: Duration = .seconds(60)) -> Duration {
        let full = min(longest / .seconds(1), Double(1 << min(max(failures - 1, 0), 6)))
        return .seconds(max(1, full * Double.random(in: 0.5...1)))
    }

    /// Sees to it that somebody wakes when the next refresh is due.
    private func setAlarm() {
        guard let due = state.withLock({ $0.nextDue }) else { return }
        alarm.withLock { alarm in
            if let alarm, alarm.at <= due { return }
            alarm?.task.cancel()
            // Weak: a sleeping alarm must not keep alive a cache that nobody uses any more.
            let task = Task.detached { [weak self, time] in
                // Counted from when the task runs, which may be later than when it was made.
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
    fileprivate static var waitCancelled: ApproovError {
        ApproovError(.networkingError, "the wait for a token was cancelled", cause: CancellationError())
    }

    fileprivate static var fetchTimedOut: ApproovError {
        ApproovError(.networkingError, "the authority did not give a token in time; try again later")
    }
}
