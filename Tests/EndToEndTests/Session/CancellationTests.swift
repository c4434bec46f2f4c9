import Approov
import ApproovTesting
import Foundation
import TestTags
import Testing

// Acceptance list: S2.14
/// Calls that their callers cancel.
@Suite("Cancelled calls", .tags(.sockets), .timeLimit(.minutes(5)))
struct CancellationTests {
    @Test("When a third of 1,000 calls is cancelled at random times, the others get their own answers")
    func storm() async throws {
        try await LoopbackWorld.with { world in
            // Fewer cached tokens than users, so that fetches start, are shared and are abandoned all the time.
            let app = try await world.app { $0.limits.cachedTokens = 8 }
            let url = try world.url("/shapes")
            let counts = try await withThrowingTaskGroup(of: (answered: Int, cancelled: Int).self) { group in
                for worker in 0..<32 {
                    group.addTask { try await Self.calls(of: worker, app, url) }
                }
                return try await group.reduce(into: (answered: 0, cancelled: 0)) {
                    $0.answered += $1.answered
                    $0.cancelled += $1.cancelled
                }
            }
            #expect(counts.answered + counts.cancelled == 1_000)
            #expect(counts.answered >= 666 && counts.cancelled > 50, "\(counts)")
            // The connections of cancelled calls are closed, not kept open.
            #expect(await eventually { world.api.counters.open <= 8 })
            #expect(try await app.get(url).status == 200)
        }
    }

    /// Makes every 32nd of a thousand calls, each for one of 40 users.
    private static func calls(of worker: Int, _ app: App, _ url: URL) async throws -> (answered: Int, cancelled: Int) {
        var (answered, cancelled) = (0, 0)
        for number in stride(from: worker, to: 1_000, by: 32) {
            let authorization = "Bearer user \(number % 40)"
            let call = Task { try await app.get(url, authorization: authorization) }
            if number.isMultiple(of: 3) {
                try await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
                call.cancel()
            }
            do {
                let answer = try await call.value
                guard answer.status == 200, try Token(answer.text).claims["pay"] as? String == Token.pay(authorization) else {
                    throw TestFailure("\(authorization) was answered \(answer.status), or for another caller")
                }
                answered += 1
            } catch is CancellationError {
                #expect(number.isMultiple(of: 3))
                cancelled += 1
            }
        }
        return (answered, cancelled)
    }
}
