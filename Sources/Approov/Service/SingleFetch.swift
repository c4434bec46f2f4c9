import ApproovBase
import Synchronization

/// A fetch for one caller, whose result is not cached.
struct SingleFetch: Sendable {
    let time: any TimeSource
    /// The time after which the fetch counts as failed, whatever it is doing.
    let timeout: Duration

    /// Runs a fetch and waits for it, at most for the timeout.
    ///
    /// The fetch is cancelled when the time is over, and the caller does not wait for its end. A cancelled caller stops waiting; the fetch
    /// then goes on, because its cancellation would look like a failure of the authority.
    ///
    /// - Parameters:
    ///   - note: Called once with the result of the fetch or of the timeout, also when the caller no longer waits.
    ///   - fetch: The fetch.
    /// - Returns: The result.
    func run(
        noting note: @escaping @Sendable (TokenFetchResult) -> Void, _ fetch: @escaping @Sendable () async -> TokenFetchOutcome
    ) async -> TokenFetchResult {
        let (outcomes, continuation) = AsyncStream.makeStream(of: TokenFetchResult.self, bufferingPolicy: .bufferingOldest(1))
        let ending = Ending()
        @Sendable func end(_ result: TokenFetchResult) {
            guard ending.isFirst() else { return }
            note(result)
            continuation.yield(result)
            continuation.finish()
        }
        let work = Task.detached { end(await fetch().result) }
        let deadline = Task.detached {
            guard (try? await time.sleep(for: timeout)) != nil else { return }
            end(TokenFetchResult(AuthorityFailure(.poorNetwork, .fetchTimedOut)))
            work.cancel()
        }
        Task.detached {
            await work.value
            deadline.cancel()
        }
        for await result in outcomes { return result }
        return TokenFetchResult(status: .poorNetwork, error: .waitCancelled)
    }

    /// The end of a fetch: its result and its timeout may come at the same time, and one of them counts.
    private final class Ending: Sendable {
        private let isOver = Mutex(false)

        func isFirst() -> Bool {
            isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
        }
    }
}
