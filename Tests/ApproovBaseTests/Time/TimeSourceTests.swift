import ApproovBase
import Foundation
import Testing

@Suite struct TimeSourceTests {
    @Test("The system clocks advance, and a sleep lasts its full time and can be cancelled")
    func system() async throws {
        let time = SystemTimeSource()
        let start = time.uptime
        try await time.sleep(for: .milliseconds(20))
        #expect(time.uptime - start >= .milliseconds(20))
        #expect(abs(time.date.timeIntervalSinceNow) < 10)
        for duration in [Duration.seconds(600), .seconds(Int64.max)] {
            let sleeper = Task { try await time.sleep(for: duration) }
            try await time.sleep(for: .milliseconds(20))
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
    }
}
