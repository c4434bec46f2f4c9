import Testing

@testable import Approov

@Suite struct StoringStateTests {
    @Test("A store failure is reported once, and the retry delay doubles from one second up to a minute")
    func failing() {
        var state = StoringState()
        state.begin()
        var delays: [Duration] = []
        for number in 0..<10 {
            let consequence = state.failed(.failed, now: .seconds(number), jitter: 1)
            #expect(consequence.isReported == (number == 0))
            delays.append(consequence.retryAfter)
        }
        #expect(delays.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(delays.last == .seconds(60))
        #expect(state.isPending && !state.isBusy)
        let consequence1 = state.failed(.failed, now: .zero, jitter: 0)
        #expect(consequence1.retryAfter == .seconds(30))
    }

    @Test("A store that another process has locked is reported after five seconds, and first retried after 50 ms")
    func busy() {
        var state = StoringState()
        state.begin()
        let consequences = [10, 14, 15, 16].map { state.failed(.busy, now: .seconds($0), jitter: 1) }
        #expect(consequences.map(\.isReported) == [false, false, true, false])
        #expect(consequences.first?.retryAfter == .milliseconds(50))
        #expect(state.isBusy)
    }

    @Test("A failed look at the store makes nothing pending, so that what another app stored stays")
    func nothingPending() {
        var state = StoringState()
        for obstacle in [StoringState.Obstacle.busy, .failed] {
            _ = state.failed(obstacle, now: .zero, jitter: 0)
            #expect(!state.isPending)
        }
    }

    @Test("`begin` makes the next failure reported again, and `end` returns whether a failure was reported")
    func versions() {
        var state = StoringState()
        #expect(!state.isPending)
        state.begin()
        let consequence2 = state.failed(.failed, now: .zero, jitter: 0)
        #expect(consequence2.isReported)
        state.begin()
        let consequence3 = state.failed(.failed, now: .zero, jitter: 1)
        #expect(consequence3.isReported)
        let wasReported = state.end()
        #expect(wasReported)
        #expect(!state.isPending)
        state.begin()
        let isFirstEnd = state.end()
        #expect(!isFirstEnd)
    }
}
