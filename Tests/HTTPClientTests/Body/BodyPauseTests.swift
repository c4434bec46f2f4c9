import ApproovTesting
import HTTPClient
import Synchronization
import Testing

@Suite("A body for a reader that holds bytes back")
final class BodyPauseTests: Sendable {
    private struct Broken: Error {}

    private let clock = ManualClock()
    private let parts: AsyncThrowingStream<[UInt8], any Error>
    private let source: AsyncThrowingStream<[UInt8], any Error>.Continuation
    /// What the user of the body saw: a part's first byte, or 0 for a pause.
    private let seen = Mutex<[UInt8]>([])

    init() { (parts, source) = AsyncThrowingStream.makeStream() }

    /// Reads the stream and holds what it is told to.
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

    @Test("held bytes are released after the time, once")
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
        // Nothing is held any more, so no timer runs.
        #expect(clock.sleeperCount == 0)
        source.yield([8])
        await clock.sleepers(atLeast: 1)
        source.finish()
        try await reading
        #expect(seen.withLock { $0 } == [7, 0, 8])
        #expect(clock.sleeperCount == 0)
    }

    @Test("bytes that came after others went out wait their own time")
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

    @Test("a stream of small parts that never stops does not hold them without end")
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

    @Test("an error of the body ends it, and no reader waits on")
    func failure() async throws {
        let reading = Task { try await read { _ in 1 } }
        source.yield([1])
        await clock.sleepers(atLeast: 1)
        source.finish(throwing: Broken())
        await #expect(throws: Broken.self) { try await reading.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test("cancellation ends it")
    func cancellation() async throws {
        let task = Task { try await read { _ in 1 } }
        source.yield([1])
        await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
