import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import APIClient

// Acceptance list: S2.116
@Suite struct DataCacheStateTests {
    private typealias State = DataCacheState<String, Int>

    private func entry(_ size: Int, until: Duration = .seconds(60)) throws -> State.Entry {
        let url = try #require(URL(string: "https://api.test/"))
        let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        return State.Entry(data: Data(count: size), head: head, freshUntil: until, size: size)
    }

    /// Asks for a response; the result is "hit", "join", or the number of the flight to start.
    private func ask(
        _ state: inout State, _ key: String, _ waiter: Int = 1, id: UInt64? = nil, isReload: Bool = false, at now: Duration = .zero
    ) -> (text: String, flight: UInt64) {
        switch state.enlist(waiter, id: id ?? state.newID(), for: key, isReload: isReload, now: now) {
        case .hit: ("hit", 0)
        case .join: ("join", 0)
        case .start(let number, _): ("start", number)
        }
    }

    /// Puts a response into the cache.
    private func put(_ state: inout State, _ key: String, _ size: Int, until: Duration = .seconds(60)) throws {
        let flight = ask(&state, key).flight
        _ = state.land(flight, for: key, .store(try entry(size, until: until)))
    }

    @Test("Equal requests share one flight, a fresh response answers later ones, and a stale one is removed")
    func life() throws {
        var state = State(capacity: 1_000)
        let first = ask(&state, "a", 1)
        #expect(first.text == "start" && ask(&state, "a", 2).text == "join" && ask(&state, "b").text == "start")
        #expect(state.flightCount == 2 && state.waiterCount == 3)
        #expect(Set(state.land(first.flight, for: "a", .store(try entry(100)))) == [1, 2])
        #expect(ask(&state, "a", at: .seconds(59)).text == "hit" && state.usedBytes == 100)
        #expect(ask(&state, "a", at: .seconds(60)).text == "start" && state.usedBytes == 0 && state.count == 0)
    }

    @Test("A reload whose flight says nothing about the response keeps it, and another one removes it")
    func reload() throws {
        var state = State(capacity: 1_000)
        try put(&state, "a", 100)
        let failed = ask(&state, "a", 2, isReload: true).flight
        #expect(state.land(failed, for: "a", .keep) == [2])
        #expect(ask(&state, "a").text == "hit" && state.usedBytes == 100)
        let answered = ask(&state, "a", 3, isReload: true).flight
        #expect(state.land(answered, for: "a", .remove) == [3])
        #expect(ask(&state, "a").text == "start" && state.usedBytes == 0)
    }

    @Test("The least recently used responses make room, and one of more than a quarter of the capacity is not kept")
    func bounds() throws {
        var state = State(capacity: 1_000)
        for key in ["a", "b", "c", "d"] { try put(&state, key, 250) }
        #expect(state.usedBytes == 1_000 && state.count == 4)
        #expect(ask(&state, "a").text == "hit")
        try put(&state, "e", 200)
        #expect(state.usedBytes == 950 && state.count == 4)
        try put(&state, "f", 251)
        #expect(state.usedBytes == 950 && state.count == 4)
        #expect(["a", "c", "d", "e"].allSatisfy { ask(&state, $0).text == "hit" })
        #expect(ask(&state, "b").text == "start")
        // A response that replaces another one counts once.
        let again = ask(&state, "c", isReload: true).flight
        _ = state.land(again, for: "c", .store(try entry(100)))
        #expect(state.usedBytes == 800)
        var none = State(capacity: 0)
        try put(&none, "a", 1)
        #expect(none.count == 0 && none.usedBytes == 0)
    }

    @Test("A flight that began before a removal or a reload answers its waiters and leaves nothing, also when it lands last")
    func overtaken() throws {
        var state = State(capacity: 1_000)
        let old = ask(&state, "a", 1).flight
        state.remove { $0 == "a" }
        let next = ask(&state, "a", 2)
        #expect(next.text == "start" && state.flightCount == 2)
        let reload = ask(&state, "a", 3, isReload: true)
        #expect(reload.text == "start" && state.flightCount == 3)
        #expect(state.land(reload.flight, for: "a", .store(try entry(10))) == [3])
        #expect(state.land(old, for: "a", .store(try entry(20))) == [1])
        #expect(state.land(next.flight, for: "a", .store(try entry(30))) == [2])
        #expect(state.usedBytes == 10 && state.flightCount == 0)
        #expect(state.land(next.flight, for: "a", .store(try entry(30))).isEmpty)
        state.remove { $0 == "b" }
        #expect(state.usedBytes == 10)
        state.remove { _ in true }
        #expect(state.usedBytes == 0 && state.count == 0)
    }

    @Test("A reload that another one overtook removes an older response when it lands with a change, and leaves a newer one")
    func overtakenReloads() throws {
        for (change, isKept) in [(State.Change.store(try entry(20)), false), (.remove, false), (.keep, true)] as [(State.Change, Bool)] {
            var state = State(capacity: 1_000)
            try put(&state, "a", 100)
            let first = ask(&state, "a", 1, isReload: true).flight
            let second = ask(&state, "a", 2, isReload: true).flight
            #expect(state.land(first, for: "a", change) == [1])
            #expect(state.count == (isKept ? 1 : 0) && state.usedBytes == (isKept ? 100 : 0))
            // The second says nothing about the response.
            #expect(state.land(second, for: "a", .keep) == [2])
            #expect(ask(&state, "a").text == (isKept ? "hit" : "start"))
        }
        var state = State(capacity: 1_000)
        let first = ask(&state, "a", 1, isReload: true).flight
        let second = ask(&state, "a", 2, isReload: true).flight
        #expect(state.land(second, for: "a", .store(try entry(30))) == [2])
        #expect(state.land(first, for: "a", .remove) == [1])
        #expect(ask(&state, "a").text == "hit" && state.usedBytes == 30)
    }

    @Test("Responses for one URL are removed without a look at those for others, and flights for it bring none")
    func oneURL() throws {
        let (mine, other) = (try TransportURL("https://api.test/mine"), try TransportURL("https://api.test/other"))
        var state = State(capacity: 1_000) { $0.hasPrefix("m") ? [mine, mine] : [other] }
        for key in ["m1", "m2", "m3", "o1", "o2"] { try put(&state, key, 10) }
        let flight = ask(&state, "m4").flight
        var asked: [String] = []
        state.remove(mine) { key in
            asked.append(key)
            return key != "m3"
        }
        #expect(asked.sorted() == ["m1", "m2", "m3", "m4"] && state.count == 3 && state.usedBytes == 30)
        #expect(state.land(flight, for: "m4", .store(try entry(10))) == [1] && state.count == 3)
        // What was removed in another way is not found again.
        state.remove { $0 == "m3" }
        asked = []
        state.remove(mine) { key in
            asked.append(key)
            return true
        }
        #expect(asked.isEmpty && state.count == 2)
    }

    @Test("A waiter that leaves does not end the flight of others, and the last one does, also after a removal", arguments: [false, true])
    func withdrawal(isRemoved: Bool) throws {
        var state = State(capacity: 1_000)
        let flight = ask(&state, "a", 1, id: 101).flight
        _ = ask(&state, "a", 2, id: 102)
        if isRemoved { state.remove { _ in true } }
        #expect(state.isWanted(flight, for: "a"))
        let first = state.withdraw(id: 101, for: "a")
        #expect(first == (1, nil))
        let unknown = state.withdraw(id: 101, for: "a")
        #expect(unknown == (nil, nil))
        let last = state.withdraw(id: 102, for: "a")
        #expect(last == (2, flight))
        #expect(!state.isWanted(flight, for: "a") && state.flightCount == 0)
        #expect(state.land(flight, for: "a", .store(try entry(10))).isEmpty)
        #expect(state.count == 0)
    }
}
