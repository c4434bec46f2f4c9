import ApproovTesting
import Foundation
import ServiceLifecycle
import TestTags
import Testing

@Suite("A running service", .tags(.sockets), .timeLimit(.minutes(5)))
struct RunningServiceTests {
    private struct Failure: Error {}

    /// Reports that it listens, then waits for the graceful shutdown; fails before or after, if asked to.
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

    @Test("The body gets the service once it listens, and the service stops after the body")
    func with() async throws {
        let port = try await RunningService.with {
            Script(onReady: $0)
        } body: {
            $0.port
        }
        #expect(port == 81)
    }

    @Test("An error of the start, the end or the body is thrown; the body's error wins over that of the end")
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
