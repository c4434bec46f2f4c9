import Testing

@testable import Approov

@Suite struct RequestGateStateTests {
    private typealias State = RequestGateState<Int>

    @Test("An open gate lets requests pass, and a paused one keeps them in their order until it is resumed")
    func pause() {
        var state = State(maximumWaiting: 10)
        let first = state.enlist(1, id: state.newID(), now: .zero)
        #expect(first == .enter)
        state.pause(until: .seconds(30))
        for waiter in 2...5 {
            let id = state.newID()
            let admission = state.enlist(waiter, id: id, now: .seconds(1))
            #expect(admission == .wait)
        }
        #expect(state.waitingCount == 4)
        let released = state.resume()
        #expect(released.requests == [2, 3, 4, 5])
        #expect(state.waitingCount == 0)
        #expect(state.isOpen(now: .seconds(1)))
    }

    @Test("A pause ends at its time, a later one prolongs it, and a shorter one does not shorten it")
    func expiry() {
        var state = State(maximumWaiting: 10)
        state.pause(until: .seconds(30))
        state.pause(until: .seconds(20))
        _ = state.enlist(1, id: state.newID(), now: .zero)
        let early = state.expire(now: .seconds(29))
        #expect(early.requests.isEmpty)
        state.pause(until: .seconds(40))
        let still = state.expire(now: .seconds(30))
        #expect(still.requests.isEmpty)
        let late = state.expire(now: .seconds(40))
        #expect(late.requests == [1])
    }

    @Test("A full queue refuses requests and barriers, and a waiter that withdraws makes room")
    func bounds() {
        var state = State(maximumWaiting: 1)
        state.pause(until: .seconds(30))
        let id = state.newID()
        let admissions = [state.enlist(1, id: id, now: .zero), state.enlist(2, id: state.newID(), now: .zero)]
        #expect(admissions == [.wait, .refused])
        let waiter = state.withdraw(id)
        #expect(waiter == 1)
        let again = state.withdraw(id)
        #expect(again == nil)
        let third = state.enlist(3, id: state.newID(), now: .zero)
        #expect(third == .wait)
        let barriers = [
            state.enlistBarrier(4, id: state.newID()), state.enlistBarrier(5, id: state.newID()), state.enlistBarrier(6, id: state.newID()),
        ]
        #expect(barriers == [.enter, .wait, .refused])
        let emptied = state.empty()
        #expect(emptied == [3])
    }

    @Test("A barrier waits for what is outgoing, holds what comes, and the next barrier comes before the requests")
    func barriers() {
        var state = State(maximumWaiting: 10)
        let counted = [state.begin(now: .zero), state.begin(now: .zero)]
        #expect(counted == [true, true])
        let (first, second) = (state.newID(), state.newID())
        let barriers = [state.enlistBarrier(1, id: first), state.enlistBarrier(2, id: second)]
        #expect(barriers == [.wait, .wait])
        let held = (state.enlist(3, id: state.newID(), now: .zero), state.begin(now: .zero))
        #expect(held == (.wait, false))
        let one = state.end(now: .zero)
        #expect(one.barrier == nil)
        let two = state.end(now: .zero)
        #expect(two.barrier == 1 && two.requests.isEmpty)
        #expect(state.isActive(first) && !state.isActive(second))
        let foreign = state.endBarrier(second, now: .zero)
        #expect(foreign.barrier == nil)
        let next = state.endBarrier(first, now: .zero)
        #expect(next.barrier == 2 && next.requests.isEmpty)
        let last = state.endBarrier(second, now: .zero)
        #expect(last.barrier == nil && last.requests == [3])
        let repeated = state.endBarrier(second, now: .zero)
        #expect(repeated.requests.isEmpty)
    }

    @Test("A barrier that withdraws opens the gate, unless a pause holds it")
    func withdrawal() {
        var state = State(maximumWaiting: 10)
        _ = state.begin(now: .zero)
        for isPaused in [false, true] {
            if isPaused { state.pause(until: .seconds(30)) }
            let id = state.newID()
            _ = state.enlistBarrier(1, id: id)
            _ = state.enlist(2, id: state.newID(), now: .zero)
            let (waiter, release) = state.withdrawBarrier(id, now: .zero)
            #expect(waiter == 1)
            #expect(release.requests == (isPaused ? [] : [2]))
        }
        let unknown = state.withdrawBarrier(77, now: .zero)
        #expect(unknown.waiter == nil)
    }

    @Test("What waits for the running barrier's work can be taken out, and the others keep their order")
    func takenOut() {
        var state = State(maximumWaiting: 10)
        let id = state.newID()
        _ = state.enlistBarrier(0, id: id)
        for waiter in 1...4 { _ = state.enlist(waiter, id: state.newID(), now: .zero) }
        for waiter in 5...6 { _ = state.enlistBarrier(waiter, id: state.newID()) }
        #expect(Set(state.waiters) == [1, 2, 3, 4, 5, 6])
        let taken = state.withdraw { $0.isMultiple(of: 2) }
        #expect(taken == ([2, 4], [6]))
        let next = state.endBarrier(id, now: .zero)
        #expect(next.barrier == 5)
        #expect(state.empty() == [1, 3])
    }
}
