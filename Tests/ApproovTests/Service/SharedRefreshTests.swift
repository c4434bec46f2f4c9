import ApproovTesting
import Testing

@testable import Approov

@Suite struct SharedRefreshTests {
    @Test("many callers share one run, and the next begins no sooner than the interval allows")
    func shared() async {
        let clock = ManualClock()
        let refresh = SharedRefresh(interval: .seconds(5), time: clock)
        let runs = MutexBox(0)
        let work: @Sendable () async -> Void = {
            runs.change { $0 += 1 }
            await Task.yield()
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await refresh.run(work) } }
        }
        #expect(runs.value == 1)
        clock.advance(by: .milliseconds(4_999))
        await refresh.run(work)
        #expect(runs.value == 1)
        clock.advance(by: .milliseconds(1))
        await refresh.run(work)
        #expect(runs.value == 2)
    }
}
