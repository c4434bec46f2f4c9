import Testing

@testable import Approov

/// What the cache does with tokens that are forgotten.
@Suite struct TokenCacheStateTests {
    private typealias State = TokenCacheState<Int>

    /// A state that expectations may change.
    private final class Machine {
        var state = State(capacity: 10)
        var count: Int { state.count }
        var flightCount: Int { state.flightCount }
        var waiterCount: Int { state.waiterCount }
        var nextDue: Duration? { state.nextDue }

        func newID() -> UInt64 { state.newID() }
        func hit(_ key: TokenKey, now: Duration) -> State.Lookup? { state.hit(key, now: now) }
        func enlist(_ waiter: Int, id: UInt64, for key: TokenKey, now: Duration) -> State.Lookup {
            state.enlist(waiter, id: id, for: key, now: now)
        }
        func withdraw(id: UInt64, for key: TokenKey) -> Int? { state.withdraw(id: id, for: key) }
        func prefetch(_ key: TokenKey, now: Duration) -> State.Start? { state.prefetch(key, now: now) }
        func startDue(now: Duration) -> [State.Start] { state.startDue(now: now) }
        func forget(where isForgotten: (TokenKey) -> Bool) -> Int { state.forget(where: isForgotten) }
        func forget(_ token: String, for key: TokenKey) { state.forget(token, for: key) }
        func succeeded(_ token: String, since: Duration, for start: State.Start, now: Duration) -> [Int] {
            let result = TokenFetchResult(status: .success, token: token)
            return state.succeeded(result, lifetime: .seconds(300), since: since, earliness: 0, for: start, now: now).waiters
        }
        func failed(_ start: State.Start, now: Duration, refreshAt: Duration) -> [Int] {
            state.failed(start, now: now) { _ in refreshAt }.waiters
        }
    }

    private let key = TokenKey(host: "api.test", payHash: "alice", isOblivious: false)
    private let other = TokenKey(host: "api.test", payHash: "bob", isOblivious: false)

    private func start(_ lookup: State.Lookup?) throws -> State.Start {
        guard case .waiting(let start?) = lookup else { throw Missing() }
        return start
    }

    private func token(_ state: Machine, _ key: TokenKey, now: Duration = .seconds(1)) -> String? {
        guard case .hit(let result, _) = state.hit(key, now: now) else { return nil }
        return result.token
    }

    private struct Missing: Error {}

    /// Fetches a token and puts it into the cache.
    private func fetch(_ token: String, for key: TokenKey, at now: Duration = .zero, in state: Machine) throws {
        let start = try start(state.enlist(0, id: state.newID(), for: key, now: now))
        _ = state.succeeded(token, since: now, for: start, now: now)
    }

    @Test("A forgotten token is gone, and other tokens stay")
    func forget() throws {
        let state = Machine()
        try fetch("one", for: key, in: state)
        try fetch("two", for: other, in: state)
        #expect(state.forget { $0.payHash == "alice" } == 1)
        #expect(token(state, key) == nil)
        #expect(token(state, other) == "two")
        #expect(state.forget { _ in true } == 1)
        #expect(state.count == 0 && state.nextDue == nil)
        #expect(state.forget { _ in true } == 0)
    }

    @Test("A refresh in flight does not bring a forgotten token back")
    func refreshInFlight() throws {
        let state = Machine()
        try fetch("one", for: key, in: state)
        _ = state.hit(key, now: .seconds(1))
        let refresh = try #require(state.startDue(now: .seconds(150)).first)
        #expect(state.forget { $0 == key } == 1)
        let completion = state.succeeded("late", since: .seconds(150), for: refresh, now: .seconds(151))
        #expect(completion.isEmpty)
        #expect(token(state, key, now: .seconds(152)) == nil)
        #expect(state.count == 0 && state.flightCount == 0)
    }

    @Test("A fetch in flight answers those who waited before, and later callers start another one whose token is kept")
    func fetchInFlight() throws {
        let state = Machine()
        let first = try start(state.enlist(1, id: state.newID(), for: key, now: .zero))
        #expect(state.forget { $0 == key } == 0)
        let second = try start(state.enlist(2, id: state.newID(), for: key, now: .zero))
        #expect(first.flight != second.flight && state.flightCount == 2 && state.waiterCount == 2)
        let kept = state.succeeded("new", since: .zero, for: second, now: .zero)
        #expect(kept == [2])
        let late = state.succeeded("late", since: .zero, for: first, now: .zero)
        #expect(late == [1])
        #expect(token(state, key) == "new")
        #expect(state.flightCount == 0)
        // Both have landed: a second outcome of either is dropped.
        #expect(state.failed(first, now: .zero, refreshAt: .zero).isEmpty)
    }

    @Test("A caller of an overtaken fetch can still stop waiting")
    func withdraw() throws {
        let state = Machine()
        let id = state.newID()
        let first = try start(state.enlist(1, id: id, for: key, now: .zero))
        _ = state.forget { _ in true }
        #expect(state.withdraw(id: id, for: key) == 1)
        #expect(state.withdraw(id: id, for: key) == nil)
        #expect(state.failed(first, now: .zero, refreshAt: .zero).isEmpty)
        #expect(state.flightCount == 0)
    }

    @Test("An overtaken refresh that fails changes nothing of the token that came after it")
    func lateFailure() throws {
        let state = Machine()
        try fetch("one", for: key, in: state)
        _ = state.hit(key, now: .seconds(1))
        let refresh = try #require(state.startDue(now: .seconds(150)).first)
        _ = state.forget { _ in true }
        try fetch("two", for: key, at: .seconds(150), in: state)
        _ = state.failed(refresh, now: .seconds(151), refreshAt: .seconds(152))
        _ = state.hit(key, now: .seconds(152))
        #expect(state.startDue(now: .seconds(299)).isEmpty)
        #expect(state.startDue(now: .seconds(300)).map(\.key) == [key])
    }

    @Test("Overtaken refreshes count towards the limit of background fetches until they end")
    func backgroundLimit() throws {
        let state = Machine()
        var starts: [State.Start] = []
        for number in 0..<State.backgroundLimit {
            let key = TokenKey(host: "h\(number)", payHash: nil, isOblivious: false)
            starts.append(try #require(state.prefetch(key, now: .zero)))
        }
        _ = state.forget { _ in true }
        try fetch("one", for: key, in: state)
        #expect(state.nextDue == nil)
        _ = state.failed(starts[0], now: .zero, refreshAt: .zero)
        #expect(state.nextDue == .seconds(150))
    }

    @Test("The cache forgets a single token only while it has it, and never the newer token in its place")
    func single() throws {
        let state = Machine()
        try fetch("one", for: key, in: state)
        state.forget("other", for: key)
        #expect(token(state, key) == "one")
        _ = state.hit(key, now: .seconds(1))
        let refresh = try #require(state.startDue(now: .seconds(150)).first)
        state.forget("one", for: key)
        _ = state.succeeded("late", since: .zero, for: refresh, now: .seconds(151))
        #expect(token(state, key, now: .seconds(151)) == nil)
        try fetch("two", for: key, at: .seconds(151), in: state)
        state.forget("one", for: key)
        #expect(token(state, key, now: .seconds(152)) == "two")
    }
}
