import ApproovBase
import Foundation
import Testing

@Suite struct TimeSourceTests {
    @Test("the system's clocks go on, and a sleep lasts and can be cancelled")
    func system() async throws {
        let time = SystemTimeSource()
        let start = time.uptime
        try await time.sleep(for: .milliseconds(20))
        #expect(time.uptime - start >= .milliseconds(20))
        #expect(abs(time.date.timeIntervalSinceNow) < 10)
        let sleeper = Task { try await time.sleep(for: .seconds(600)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }
}
