import ApproovTesting
import Attestation
import Testing

@testable import Approov

@Suite struct TokenCacheTests {
    /// A cache whose fetches a test counts, fails and holds up.
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

        /// Moves the time once everything has gone to sleep that is going to.
        func advance(by duration: Duration, in cache: TokenCache) async {
            _ = await eventually { cache.isIdle && self.clock.sleeperCount >= 1 }
            clock.advance(by: duration)
        }
    }

    let key = TokenKey(host: "api.test", payHash: "hash", isOblivious: false)

    @Test("a thousand concurrent first requests share one fetch")
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

    @Test("different bindings are different tokens, fetched side by side")
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

    @Test("one waiter's cancellation leaves the fetch to the others")
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

    @Test("a storm of cancellations loses and doubles no answer")
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

    @Test("a fetch that hangs keeps no caller waiting beyond its deadline")
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

    @Test("a fetch is cancelled by its deadline only after the failure has landed, so that its own outcome comes too late")
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

    @Test("a token in use is fetched again at half its life, and no caller waits")
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

    @Test("a token that no request uses runs out and is forgotten")
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

    @Test("an expired token is never given out, nor one in its last moments")
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

    @Test("a refresh that fails is tried again, later every time, while the old token serves")
    func backoff() async {
        let source = Source()
        let cache = source.cache()
        _ = await cache.token(for: key)
        source.fails.value = true
        await source.advance(by: .seconds(151), in: cache)
        #expect(await eventually { source.fetches.value.count == 2 && cache.isIdle })
        #expect(cache.cached(key)?.token == "token-1")
        // One second at the first failure, and no more than that.
        await source.advance(by: .milliseconds(1_001), in: cache)
        #expect(await eventually { source.fetches.value.count == 3 && cache.isIdle })
        source.fails.value = false
        await source.advance(by: .seconds(3), in: cache)
        #expect(await eventually { source.fetches.value.count == 4 && cache.isIdle })
        #expect(cache.cached(key)?.token == "token-4")
    }

    @Test("the cache holds as many tokens as it was told")
    func capacity() async {
        let cache = Source().cache(capacity: 10)
        for number in 0..<50 { _ = await cache.token(for: TokenKey(host: "h\(number)", payHash: nil, isOblivious: false)) }
        #expect(cache.count == 10)
    }

    @Test("a prefetch is shared by those who come while it runs, and repeats nothing")
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
