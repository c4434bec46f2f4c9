import ApproovTesting
import HTTPClient
import Synchronization
import Testing

@Suite("The pause that tells a reader to send the bytes it holds back")
final class BodyPauseTests: Sendable {
    private struct Broken: Error {}

    private let clock = ManualClock()
    private let parts: AsyncThrowingStream<[UInt8], any Error>
    private let source: AsyncThrowingStream<[UInt8], any Error>.Continuation
    /// The events that the reader got: a part's first byte, or 0 for a pause.
    private let seen = Mutex<[UInt8]>([])

    init() { (parts, source) = AsyncThrowingStream.makeStream() }

    /// Reads the stream; `holding` returns a number for the bytes held after an event, or nil for none.
    private func read(holding: @escaping @Sendable (BodyPause.Event) -> Int?) async throws {
        let (clock, parts) = (clock, parts)
        try await BodyPause { try await clock.sleep(for: .milliseconds(50)) }.forEach({
            var parts = parts.makeAsyncIterator()
            return try await parts.next()
        }) { event in
            seen.withLock {
                switch event {
                case .part(let part): $0.append(part[0])
                case .pause: $0.append(0)
                }
            }
            return holding(event)
        }
    }

    private func hasSeen(_ expected: [UInt8]) async -> Bool {
        await eventually { self.seen.withLock { $0 == expected } }
    }

    @Test("The reader gets one pause when it has held bytes for 50 ms")
    func pause() async throws {
        async let reading: Void = read { event in
            if case .part = event { 1 } else { nil }
        }
        source.yield([7])
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(49))
        #expect(seen.withLock { $0 } == [7])
        clock.advance(by: .milliseconds(1))
        #expect(await hasSeen([7, 0]))
        // No bytes are held now, so no timer runs.
        #expect(clock.sleeperCount == 0)
        source.yield([8])
        await clock.sleepers(atLeast: 1)
        source.finish()
        try await reading
        #expect(seen.withLock { $0 } == [7, 0, 8])
        #expect(clock.sleeperCount == 0)
    }

    @Test("The timer of bytes already sent causes no pause; the newer bytes get the next one")
    func newer() async throws {
        async let reading: Void = read { event in
            if case .part(let part) = event { Int(part[0]) } else { nil }
        }
        source.yield([1])
        await clock.sleepers(atLeast: 1)
        source.yield([2])
        #expect(await hasSeen([1, 2]))
        clock.advance(by: .milliseconds(50))
        await clock.sleepers(atLeast: 1)
        #expect(seen.withLock { $0 } == [1, 2])
        clock.advance(by: .milliseconds(50))
        #expect(await hasSeen([1, 2, 0]))
        source.finish()
        try await reading
    }

    @Test("A steady stream of small parts does not delay the pause")
    func trickle() async throws {
        async let reading: Void = read { event in
            if case .part = event { 1 } else { nil }
        }
        for part in UInt8(1)...5 {
            source.yield([part])
            #expect(await hasSeen(Array(1...part)))
            await clock.sleepers(atLeast: 1)
            if part < 5 { clock.advance(by: .milliseconds(12)) }
        }
        clock.advance(by: .milliseconds(2))
        #expect(await hasSeen([1, 2, 3, 4, 5, 0]))
        source.finish()
        try await reading
    }

    @Test("An error of the body ends the reading and leaves no timer running")
    func failure() async throws {
        let reading = Task { try await read { _ in 1 } }
        source.yield([1])
        await clock.sleepers(atLeast: 1)
        source.finish(throwing: Broken())
        await #expect(throws: Broken.self) { try await reading.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test("Cancelling the task ends the reading with a CancellationError")
    func cancellation() async throws {
        let task = Task { try await read { _ in 1 } }
        source.yield([1])
        await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
