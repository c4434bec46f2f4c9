import ApproovTesting
import Foundation
import ServiceLifecycle
import TestTags
import Testing

@Suite("A running service", .tags(.sockets), .timeLimit(.minutes(5)))
struct RunningServiceTests {
    private struct Failure: Error {}

    /// Says that it listens, unless it is to fail before, and ends as it is told to when it is asked to stop.
    private struct Script: Service {
        var failsAtOnce = false
        var failsAtEnd = false
        let onReady: @Sendable (URL) async -> Void

        func run() async throws {
            if failsAtOnce { throw Failure() }
            if let url = URL(string: "http://127.0.0.1:81") { await onReady(url) }
            try await gracefulShutdown()
            if failsAtEnd { throw Failure() }
        }
    }

    @Test("it is handed over when it listens, and stopped when the body is done")
    func with() async throws {
        let port = try await RunningService.with {
            Script(onReady: $0)
        } body: {
            $0.port
        }
        #expect(port == 81)
    }

    @Test("what keeps it from listening, what it ends with and what the body throws are errors")
    func errors() async {
        await #expect(throws: Failure.self) { try await RunningService.start { Script(failsAtOnce: true, onReady: $0) } }
        await #expect(throws: Failure.self) {
            try await RunningService.with {
                Script(failsAtEnd: true, onReady: $0)
            } body: { _ in
            }
        }
        await #expect(throws: CancellationError.self) {
            try await RunningService.with {
                Script(failsAtEnd: true, onReady: $0)
            } body: { _ in
                throw CancellationError()
            }
        }
    }
}
