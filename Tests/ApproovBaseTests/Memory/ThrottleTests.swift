import ApproovBase
import Testing

@Suite struct ThrottleTests {
    private func admits(_ throttle: inout Throttle<Int>, _ subject: Int, at now: Duration) -> Bool { throttle.admits(subject, at: now) }

    @Test("Each subject is admitted once per interval, independently of other subjects")
    func interval() {
        var throttle = Throttle<Int>(interval: .seconds(10), capacity: 8)
        #expect(admits(&throttle, 1, at: .zero))
        #expect(!admits(&throttle, 1, at: .milliseconds(9_999)))
        #expect(admits(&throttle, 2, at: .milliseconds(9_999)))
        #expect(admits(&throttle, 1, at: .seconds(10)))
        #expect(!admits(&throttle, 1, at: .seconds(19)))
    }

    @Test("Without an interval each subject is admitted once, and a full throttle never admits a new one")
    func once() {
        var throttle = Throttle<Int>(interval: nil, capacity: 2)
        #expect(admits(&throttle, 1, at: .zero))
        #expect(!admits(&throttle, 1, at: .seconds(1_000_000)))
        #expect(admits(&throttle, 2, at: .zero))
        #expect(!admits(&throttle, 3, at: .seconds(1_000_000)))
    }

    @Test("A full throttle admits a known subject when due, and a new one only after a known one's interval ends")
    func full() {
        var throttle = Throttle<Int>(interval: .seconds(10), capacity: 2)
        #expect(admits(&throttle, 1, at: .zero))
        #expect(admits(&throttle, 2, at: .seconds(5)))
        #expect(!admits(&throttle, 3, at: .seconds(9)))
        #expect(admits(&throttle, 1, at: .seconds(10)))
        #expect(!admits(&throttle, 3, at: .seconds(14)))
        #expect(admits(&throttle, 3, at: .seconds(15)))
    }

    @Test("Forgetting a subject makes room for another one")
    func forget() {
        var throttle = Throttle<Int>(interval: .seconds(10), capacity: 1)
        #expect(admits(&throttle, 1, at: .zero))
        throttle.forget(1)
        #expect(admits(&throttle, 2, at: .zero))
    }
}
