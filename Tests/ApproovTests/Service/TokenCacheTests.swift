import ApproovTesting
import Attestation
import Testing

@testable import Approov

@Suite struct TokenCacheTests {
    /// Makes a cache whose fetches the test counts, delays and lets fail.
    final class Source: Sendable {
        let clock = ManualClock()
        let fetches = Shared<[TokenKey]>([])
        let fails = Shared(false)
        let gate = Shared<(@Sendable () async -> Void)?>(nil)

        func cache(capacity: Int = 100) -> TokenCache {
            let backoff = AuthorityBackoff(time: clock)
            return TokenCache(capacity: capacity, fetchTimeout: .seconds(30), time: clock, backoff: backoff) { [self] key in
                let since = clock.uptime
                let number = fetches.change { fetches in
                    fetches.append(key)
                    return fetches.count
                }
                await gate.value?()
                if fails.value {
                    let failure = AuthorityFailure(.noNetwork, ApproovError(.networkingError, "down"))
                    backoff.failed(failure)
                    return .failure(TokenFetchResult(failure))
                }
                backoff.succeeded()
                return .token(TokenFetchResult(status: .success, token: "token-\(number)"), lifetime: .seconds(300), since: since)
            }
        }

        /// Advances the clock once the cache is idle and its next refresh is asleep.
        func advance(by duration: Duration, in cache: TokenCache) async {
            _ = await eventually { cache.isIdle && self.clock.sleeperCount >= 1 }
            clock.advance(by: duration)
        }
    }

    let key = TokenKey(host: "api.test", payHash: "hash", isOblivious: false)

    @Test("A thousand concurrent first requests share one fetch")
    func singleFlight() async {
        let source = Source()
        let cache = source.cache()
        let (open, opener) = AsyncStream.makeStream(of: Void.self)
        source.gate.value = { for await _ in open { return } }
        let tokens = await withTaskGroup(of: String.self) { group in
            for _ in 0..<1_000 { group.addTask { await cache.token(for: self.key).token } }
            _ = await eventually { cache.waiterCount == 1_000 }
            opener.finish()
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens == ["token-1"])
        #expect(source.fetches.value.count == 1)
    }

    @Test("Different bindings get different tokens from separate fetches")
    func bindings() async {
        let source = Source()
        let cache = source.cache()
        let other = TokenKey(host: "api.test", payHash: "other", isOblivious: false)
        async let first = cache.token(for: key).token
        async let second = cache.token(for: other).token
        let tokens = await Set([first, second])
        #expect(tokens.count == 2)
        #expect(Set(source.fetches.value) == [key, other])
    }

    @Test("Cancelling one waiter does not cancel the fetch for the others")
    func cancellation() async {
        let source = Source()
        let cache = source.cache()
        let (open, opener) = AsyncStream.makeStream(of: Void.self)
        source.gate.value = { for await _ in open { return } }
        let leaving = Task { await cache.token(for: key) }
        let staying = Task { await cache.token(for: key) }
        _ = await eventually { cache.waiterCount == 2 }
        leaving.cancel()
        let left = await leaving.value
        #expect(left.token.isEmpty)
        #expect(left.error?.cause is CancellationError)
        opener.finish()
        #expect(await staying.value.token == "token-1")
        #expect(source.fetches.value.count == 1)
    }

    @Test("Mass cancellation neither loses nor duplicates an answer")
    func cancellationStorm() async {
        let source = Source()
        let cache = source.cache()
        source.gate.value = { await Task.yield() }
        let answers = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    let key = TokenKey(host: "api.test", payHash: "\(number % 10)", isOblivious: false)
                    let task = Task { await cache.token(for: key) }
                    if number.isMultiple(of: 2) { task.cancel() }
                    let result = await task.value
                    return result.status == .success || result.error?.cause is CancellationError
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 1_000)
        #expect(answers.allSatisfy { $0 })
        #expect(await eventually { cache.isIdle })
    }

    @Test("A caller of a fetch that hangs waits no longer than the fetch's deadline")
    func deadline() async {
        let source = Source()
        let cache = source.cache()
        let (open, opener) = AsyncStream.makeStream(of: Void.self)
        defer { opener.finish() }
        source.gate.value = { for await _ in open { return } }
        let waiter = Task { await cache.token(for: key) }
        _ = await eventually { cache.waiterCount == 1 }
        await source.clock.sleepers(atLeast: 1)
        source.clock.advance(by: .seconds(31))
        #expect(await waiter.value.status == .poorNetwork)
    }

    @Test("The deadline delivers its failure before it cancels the fetch, so that the fetch's own outcome is ignored")
    func deadlineBeforeCancellation() async {
        let source = Source()
        let cache = source.cache()
        let (open, opener) = AsyncStream.makeStream(of: Void.self)
        let hasLanded = Shared<Bool?>(nil)
        source.gate.value = {
            await withTaskCancellationHandler {
                for await _ in open { return }
            } onCancel: {
                hasLanded.value = cache.isIdle
                opener.finish()
            }
        }
        let waiter = Task { await cache.token(for: key) }
        _ = await eventually { cache.waiterCount == 1 }
        await source.clock.sleepers(atLeast: 1)
        source.clock.advance(by: .seconds(31))
        #expect(await waiter.value.status == .poorNetwork)
        #expect(await eventually { hasLanded.value != nil })
        #expect(hasLanded.value == true)
    }

    @Test("A token in use is refreshed at half its lifetime, and no caller waits")
    func refresh() async {
        let source = Source()
        let cache = source.cache()
        #expect(await cache.token(for: key).token == "token-1")
        for life in 2...4 {
            await source.advance(by: .seconds(151), in: cache)
            #expect(await eventually { source.fetches.value.count == life && cache.isIdle })
            #expect(cache.cached(key)?.token == "token-\(life)")
        }
    }

    @Test("A token that no caller uses any more expires and is removed")
    func unused() async {
        let source = Source()
        let cache = source.cache()
        _ = await cache.token(for: key)
        await source.advance(by: .seconds(151), in: cache)
        #expect(await eventually { source.fetches.value.count == 2 && cache.isIdle })
        // No caller asked for the second one.
        await source.advance(by: .seconds(151), in: cache)
        await source.advance(by: .seconds(150), in: cache)
        #expect(await eventually { cache.count == 0 })
        #expect(source.fetches.value.count == 2)
    }

    @Test("The cache does not return a token in the last five seconds of its lifetime")
    func expiry() async {
        let source = Source()
        let cache = source.cache()
        _ = await cache.token(for: key)
        source.fails.value = true
        await source.advance(by: .seconds(294), in: cache)
        #expect(cache.cached(key)?.token == "token-1")
        source.clock.advance(by: .seconds(1))
        #expect(cache.cached(key) == nil)
        #expect(await cache.token(for: key).status == .noNetwork)
    }

    @Test("A failed refresh is retried after growing pauses, and the old token is returned until one succeeds")
    func backoff() async {
        let source = Source()
        let cache = source.cache()
        _ = await cache.token(for: key)
        source.fails.value = true
        await source.advance(by: .seconds(151), in: cache)
        #expect(await eventually { source.fetches.value.count == 2 && cache.isIdle })
        #expect(cache.cached(key)?.token == "token-1")
        // After the first failure, the pause is exactly one second.
        await source.advance(by: .milliseconds(1_001), in: cache)
        #expect(await eventually { source.fetches.value.count == 3 && cache.isIdle })
        source.fails.value = false
        await source.advance(by: .seconds(3), in: cache)
        #expect(await eventually { source.fetches.value.count == 4 && cache.isIdle })
        #expect(cache.cached(key)?.token == "token-4")
    }

    @Test("The cache holds no more tokens than its capacity")
    func capacity() async {
        let cache = Source().cache(capacity: 10)
        for number in 0..<50 { _ = await cache.token(for: TokenKey(host: "h\(number)", payHash: nil, isOblivious: false)) }
        #expect(cache.count == 10)
    }

    @Test("Callers share a prefetch that is under way, and a prefetch of a cached token fetches nothing")
    func prefetch() async {
        let source = Source()
        let cache = source.cache()
        cache.prefetch(key)
        cache.prefetch(key)
        #expect(await cache.token(for: key).token == "token-1")
        cache.prefetch(key)
        #expect(source.fetches.value.count == 1)
    }
}
