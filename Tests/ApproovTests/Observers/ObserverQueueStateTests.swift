import Testing

@testable import Approov

@Suite struct ObserverQueueStateTests {
    private var state = ObserverQueueState()

    private func event(_ number: UInt64) -> SessionEvent {
        .didFail(
            CallFailure(
                call: number, attempt: 1, request: nil, code: nil, message: "", willRetry: false, duration: .zero, timings: nil))
    }

    private mutating func add(_ number: UInt64) -> ObserverQueueState.Action { state.add(event(number)) }

    private mutating func numbers() -> [UInt64]? {
        state.next()?.events.map { if case .didFail(let failure) = $0 { failure.call } else { 0 } }
    }

    @Test("Only the first event starts a delivery, which goes on until nothing waits")
    mutating func delivery() {
        let starts = [add(1), add(2)]
        #expect(starts == [.deliver, .none])
        let first = numbers()
        #expect(first == [1, 2])
        let another = add(3)
        #expect(another == .none)
        let rest = [numbers(), numbers()]
        #expect(rest == [[3], nil])
        let next = add(4)
        #expect(next == .deliver)
    }

    @Test("At most 1,024 events wait, with those that are being delivered, and the number of dropped ones follows them")
    mutating func bound() {
        for number in 0..<1_030 { _ = add(UInt64(number)) }
        let first = state.next()
        #expect(first?.events.count == ObserverQueueState.limit && first?.dropped == 6)
        for number in 0..<5 { _ = add(UInt64(number)) }
        let second = state.next()
        #expect(second?.events.isEmpty == true && second?.dropped == 5)
        _ = add(7)
        let third = numbers()
        #expect(third == [7])
    }

    @Test("Events that the observer has got do not count, also before the next ones are taken")
    mutating func delivered() {
        for number in 0..<1_024 { _ = add(UInt64(number)) }
        _ = state.next()
        _ = state.delivered()
        for number in 0..<1_024 { _ = add(UInt64(number)) }
        let batch = state.next()
        #expect(batch?.events.count == ObserverQueueState.limit && batch?.dropped == 0)
    }

    @Test("An event after a gap is dropped with it, so that no event comes before the news of the gap")
    mutating func gap() {
        for number in 0..<1_025 { _ = add(UInt64(number)) }
        _ = add(1)
        let batch = state.next()
        #expect(batch?.events.count == ObserverQueueState.limit && batch?.dropped == 2)
    }

    @Test("A pause ends once when 256 events wait, and there is none while they do")
    mutating func pause() {
        _ = add(0)
        _ = state.next()
        let early = (0..<300).map { add(UInt64($0)) }
        #expect(!early.contains(.hurry))
        let isPause = state.delivered()
        #expect(!isPause)
        _ = state.next()
        let isNextPause = state.delivered()
        #expect(isNextPause)
        let actions = (0..<600).map { add(UInt64($0)) }
        #expect(actions.indices.filter { actions[$0] == .hurry } == [ObserverQueueState.enough - 1])
        let batch = state.next()
        #expect(batch?.events.count == 600)
    }

    @Test("After a gap there is no pause, because each event during it would be dropped")
    mutating func noPauseAfterGap() {
        for number in 0..<1_023 { _ = add(UInt64(number)) }
        _ = state.next()
        for number in 0..<3 { _ = add(UInt64(number)) }
        let isPause = state.delivered()
        #expect(!isPause)
        let batch = state.next()
        #expect(batch?.events.count == 1 && batch?.dropped == 2)
    }
}
