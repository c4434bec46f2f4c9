import Foundation

/// One way to make the request that the transport group measures.
protocol LoadClient: Sendable {
    /// One GET, its body collected; throws when the answer is not 200 with five bytes.
    func get() async throws
}

extension LoadClient {
    /// Requests a second with `atOnce` requests in flight for `seconds`.
    func rate(atOnce: Int, seconds: Double) async throws -> Round {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(seconds)
        let answered = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<atOnce {
                group.addTask {
                    var count = 0
                    // Once at least: a slow machine must not leave a round without an operation.
                    repeat {
                        try await get()
                        count += 1
                    } while clock.now < end
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        return Round(value: Double(answered) / ((clock.now - start) / .seconds(1)), operations: answered)
    }
}

func expectFiveBytes(status: Int, count: Int, from name: String) throws {
    guard status == 200, count == 5 else { throw BenchmarkError("\(name) was answered \(status) with \(count) bytes, not 200 with 5") }
}
