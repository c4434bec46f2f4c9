import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import TestTags
import Testing

@testable import Approov

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct ApproovSessionInvalidationTests {
    /// Answers /wait once the gate is open, and /endless without an end.
    private static func site(_ gate: Gate) async throws -> Site {
        try await Site.start { request in
            if request.path == "/wait" { try await gate.wait() }
            guard request.path == "/endless" else { return TestResponse(text: "answer") }
            return TestResponse(length: nil) { _ in [UInt8](repeating: 1, count: 10_000) }
        }
    }

    @Test("A cancelled session ends what is under way and refuses what follows, and other sessions go on")
    func cancel() async throws {
        let gate = Gate()
        let site = try await Self.site(gate)
        let (session, other) = (try site.session(), try site.session())
        let waiting = Task { try await session.data(from: site.url("/wait")) }
        let foreign = Task { try await other.data(from: site.url("/wait")) }
        let (bytes, _) = try await session.bytes(from: site.url("/endless"))
        #expect(await eventually { site.server.counters.requests == 3 })
        session.invalidateAndCancel()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await waiting.value }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { for try await _ in bytes {} }
        let error = await #expect(throws: ApproovError.self) { try await session.data(from: site.url("/")) }
        #expect(error?.code == .sessionInvalidated)
        #expect(error?.isRetryable == false)
        gate.open()
        #expect(try await foreign.value.0 == Data("answer".utf8))
        #expect(site.server.counters.requests == 3)
        await site.stop()
    }

    @Test("A session that finishes lets what is under way end, and refuses what follows")
    func finish() async throws {
        let gate = Gate()
        let site = try await Self.site(gate)
        let session = try site.session()
        let waiting = Task { try await session.data(from: site.url("/wait")) }
        #expect(await eventually { site.server.counters.requests == 1 })
        session.finishTasksAndInvalidate()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.data(from: site.url("/")) }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.download(from: site.url("/")) }
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.bytes(from: site.url("/")) }
        gate.open()
        #expect(try await waiting.value.0 == Data("answer".utf8))
        #expect(site.server.counters.requests == 1)
        // Finishing after that changes nothing, and cancelling still ends everything.
        session.finishTasksAndInvalidate()
        session.invalidateAndCancel()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await session.data(from: site.url("/")) }
        await site.stop()
    }

    @Test("A retrier cannot send a request again in a cancelled session, and a task's handler gets the error")
    func retrier() async throws {
        struct Again: RequestInterceptor {
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision { .retry }
        }
        let gate = Gate()
        let site = try await Self.site(gate)
        var configuration = ApproovSessionConfiguration()
        configuration.interceptors = [Again()]
        let session = try site.session(configuration)
        let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Error)?, Never>) in
            session.dataTask(with: site.url("/wait")) { _, _, error in continuation.resume(returning: error) }.resume()
            Task {
                _ = await eventually { site.server.counters.requests == 1 }
                session.invalidateAndCancel()
            }
        }
        #expect((error as? ApproovError)?.code == .sessionInvalidated)
        #expect(site.server.counters.requests == 1)
        gate.open()
        await site.stop()
    }

    @Test("A request that waits at a gate fails when it passes in a cancelled session, and nothing is sent")
    func atGate() async throws {
        let site = try await Self.site(Gate())
        let gate = RequestGate()
        var configuration = ApproovSessionConfiguration()
        configuration.gate = gate
        let session = try site.session(configuration)
        gate.pause()
        let waiting = Task { try await session.data(from: site.url("/")) }
        #expect(await eventually { gate.waitingCount == 1 })
        session.invalidateAndCancel()
        gate.resume()
        await #expect(throws: ApproovError(.sessionInvalidated, "")) { try await waiting.value }
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }
}
