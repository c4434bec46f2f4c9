import Testing

@testable import Approov

@Suite struct StoringStateTests {
    @Test("a store that fails is reported at once, and once, and tried again after 1 s, doubled up to a minute")
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
        #expect(state.failed(.failed, now: .zero, jitter: 0).retryAfter == .seconds(30))
    }

    @Test("a store that another process has is reported after five seconds, and tried again soon")
    func busy() {
        var state = StoringState()
        state.begin()
        #expect(state.failed(.busy, now: .seconds(10), jitter: 1).retryAfter == .milliseconds(50))
        #expect(!state.failed(.busy, now: .seconds(14), jitter: 1).isReported)
        #expect(state.isBusy)
        #expect(state.failed(.busy, now: .seconds(15), jitter: 1).isReported)
        #expect(!state.failed(.busy, now: .seconds(16), jitter: 1).isReported)
    }

    @Test("another version begins again, and the end says whether a failure was reported")
    func versions() {
        var state = StoringState()
        #expect(!state.isPending)
        state.begin()
        #expect(state.failed(.failed, now: .zero, jitter: 0).isReported)
        state.begin()
        #expect(state.failed(.failed, now: .zero, jitter: 1).isReported)
        #expect(state.end())
        #expect(!state.isPending)
        state.begin()
        #expect(!state.end())
    }
}
