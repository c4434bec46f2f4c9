import ApproovBase

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
    /// - Parameter fetch: The fetch.
    /// - Returns: The result.
    func run(_ fetch: @escaping @Sendable () async -> TokenFetchOutcome) async -> TokenFetchResult {
        let (outcomes, continuation) = AsyncStream.makeStream(of: TokenFetchResult.self, bufferingPolicy: .bufferingOldest(1))
        let work = Task.detached {
            continuation.yield(await fetch().result)
            continuation.finish()
        }
        let deadline = Task.detached {
            guard (try? await time.sleep(for: timeout)) != nil else { return }
            continuation.yield(TokenFetchResult(AuthorityFailure(.poorNetwork, .fetchTimedOut)))
            continuation.finish()
            work.cancel()
        }
        Task.detached {
            await work.value
            deadline.cancel()
        }
        for await result in outcomes { return result }
        return TokenFetchResult(status: .poorNetwork, error: .waitCancelled)
    }
}
