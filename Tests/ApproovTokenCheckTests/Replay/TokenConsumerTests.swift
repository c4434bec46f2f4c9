import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import MetricsTestKit
import Testing

@testable import ApproovTokenCheck

private let policies: [ReplayPolicy] = [.refused, .dangerouslyPassedToHandler]

@Suite struct TokenConsumerTests {
    private struct ForeignError: Error {
        let text = "canary"
    }

    private let routes = LimitedUseRoutes()
    private let metrics = TestMetrics()

    private func verified(_ change: (inout TokenClaims) -> Void = { _ in }) throws -> VerifiedToken {
        try routes.verifier().verify(routes.token(change))
    }

    private func consumer(
        _ store: any ReplayStore, timeout: Duration = .seconds(2), policy: ReplayPolicy = .refused, maximumWaiting: Int = 10
    ) throws -> TokenConsumer {
        try TokenConsumer(store: store, timeout: timeout, policy: policy, maximumWaiting: maximumWaiting, metrics: metrics)
    }

    /// What happens to a request with a token, as a word.
    private func outcome(_ consumer: TokenConsumer, _ token: VerifiedToken) async -> String {
        switch await consumer.consume(token, logger: routes.logs.logger, time: routes.clock) {
        case .passed(let token): token.isReplay ? "replay" : "passed"
        case .refused: "refused"
        case .unavailable: "unavailable"
        }
    }

    private func count(_ result: String) throws -> Int64 {
        try metrics.expectCounter("approov_token_uses", [("result", result)]).values.reduce(0, +)
    }

    @Test("The store is asked for issuer and identifier, until no machine can accept the token any more and no wait for the store runs")
    func question() async throws {
        let store = StoreDouble { true }
        let consumer = try consumer(store, timeout: .seconds(7))
        let now = routes.now
        #expect(await outcome(consumer, try verified()) == "passed")
        #expect(await outcome(consumer, try verified { $0.iss = "an issuer" }) == "passed")
        let end = now + 60 + 30 + 7 + 1
        #expect(
            store.uses.value == [
                .init(jti: "AAECAwQFBgcICQoLDA0ODw", issuer: nil, end: end),
                .init(jti: "AAECAwQFBgcICQoLDA0ODw", issuer: "an issuer", end: end),
            ])
    }

    @Test("A first use passes, a later one is refused or marked, and both are counted and the later ones logged")
    func outcomes() async throws {
        let store = MemoryReplayStore(time: routes.clock)
        let token = try verified()
        #expect(await outcome(try consumer(store), token) == "passed")
        #expect(await outcome(try consumer(store), token) == "refused")
        #expect(await outcome(try consumer(store, policy: .dangerouslyPassedToHandler), token) == "replay")
        #expect(try count("first") == 1 && count("replayed") == 2 && count("unavailable") == 0)
        let lines = routes.logs.lines
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("notice") && $0.contains("tokenUsedBefore") }, "\(lines)")
        #expect(!lines.joined().contains("AAECAwQ"))
    }

    @Test("A token that is not for one use is refused, and the store is not asked", arguments: policies)
    func notLimited(policy: ReplayPolicy) async throws {
        let store = StoreDouble { true }
        let consumer = try consumer(store, policy: policy)
        for jti in [nil, "", String(repeating: "a", count: 257)] {
            #expect(await outcome(consumer, try verified { $0.jti = jti }) == "refused")
        }
        #expect(store.uses.value.isEmpty)
        let text = routes.logs.lines.joined()
        #expect(text.contains("jtiMissing") && text.contains("jtiMalformed") && !text.contains("aaa"))
    }

    @Test("A store that fails makes the request fail, in either mode; the log has codes and names, and nothing of a foreign error")
    func failing() async throws {
        for policy in policies {
            let foreign = try consumer(StoreDouble { throw ForeignError() }, policy: policy)
            #expect(await outcome(foreign, try verified()) == "unavailable")
            let full = try consumer(StoreDouble { throw ReplayStoreError(.storeFull, "make room") }, policy: policy)
            #expect(await outcome(full, try verified()) == "unavailable")
        }
        #expect(try count("unavailable") == 4 && count("first") == 0)
        let lines = routes.logs.lines
        #expect(lines.allSatisfy { $0.hasPrefix("error replay store failed") && !$0.contains("canary") && !$0.contains("AAECAwQ") })
        #expect(lines.contains { $0.contains("storeFailed") && $0.contains("ForeignError") })
        #expect(lines.contains { $0.contains("storeFull") && $0.contains("make room") })
    }

    @Test("The wait for a store ends at the timeout, even when the store ignores its cancellation")
    func slow() async throws {
        let pending = Shared<[CheckedContinuation<Bool, Never>]>([])
        let store = StoreDouble { await withCheckedContinuation { continuation in pending.change { $0.append(continuation) } } }
        let consumer = try consumer(store, timeout: .seconds(2), maximumWaiting: 1)
        let token = try verified()
        async let first = outcome(consumer, token)
        await routes.clock.sleepers(atLeast: 1)
        #expect(await eventually { pending.value.count == 1 })
        // The store may keep only so many uses waiting: the next one is not even asked.
        #expect(await outcome(consumer, token) == "unavailable")
        #expect(store.uses.value.count == 1)
        routes.clock.advance(by: .seconds(2))
        #expect(await first == "unavailable")
        #expect(await outcome(consumer, token) == "unavailable")
        pending.value.forEach { $0.resume(returning: true) }
        #expect(try count("unavailable") == 3 && count("first") == 0)
        #expect(routes.logs.lines.allSatisfy { $0.contains("storeSlow") })
    }

    @Test("The store is told to give up when the wait is over, and its place is free again")
    func cancelled() async throws {
        let gate = Gate()
        let isCancelled = Shared(false)
        let store = StoreDouble {
            do {
                try await gate.wait()
                return true
            } catch {
                isCancelled.value = true
                throw error
            }
        }
        let consumer = try consumer(store, maximumWaiting: 1)
        let token = try verified()
        async let first = outcome(consumer, token)
        await routes.clock.sleepers(atLeast: 1)
        #expect(await eventually { gate.waiterCount == 1 })
        routes.clock.advance(by: .seconds(2))
        #expect(await first == "unavailable")
        #expect(await eventually { isCancelled.value })
        gate.open()
        #expect(await eventually { await outcome(consumer, token) == "passed" })
    }

    @Test("A request that is cancelled stops waiting, and is not logged as a failure of the store")
    func cancelledRequest() async throws {
        let gate = Gate()
        let store = StoreDouble {
            try await gate.wait()
            return true
        }
        let consumer = try consumer(store)
        let token = try verified()
        let request = Task { await outcome(consumer, token) }
        #expect(await eventually { gate.waiterCount == 1 })
        request.cancel()
        #expect(await request.value == "unavailable")
        #expect(routes.logs.lines.isEmpty)
    }

    @Test("A timeout of zero, or of more than a minute, is refused")
    func settings() async throws {
        for timeout in [Duration.zero, .seconds(-1), .seconds(61)] {
            await refuses(.invalidConfiguration) { _ = try consumer(MemoryReplayStore(), timeout: timeout) }
        }
        _ = try consumer(MemoryReplayStore(), timeout: .seconds(60))
    }
}
