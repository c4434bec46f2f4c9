import ApproovTesting
import HTTPServing
import Hummingbird
import NIOCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct BorrowedRequestBodyTests {
    @Test("The parts reach successive readers in order")
    func parts() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        await source.yield(ByteBuffer(string: "one"))
        #expect(try await borrowed.next() == Array("one".utf8))
        await source.yield(ByteBuffer(string: "two"))
        source.finish()
        var rest: [[UInt8]] = []
        for try await part in borrowed { rest.append(part) }
        #expect(rest == [Array("two".utf8)])
    }

    @Test("A body of exactly the limit is read, and one more byte is an error")
    func limit() async throws {
        let exact = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abc")), limit: 3)
        #expect(try await exact.next()?.count == 3)
        let over = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 3)
        await #expect(throws: BorrowedRequestBody.TooLong.self) { try await over.next() }
    }

    @Test("A body that was taken back is not read further, and taking it back waits for a read under way")
    func takenBack() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        // Both tasks are waiting when `Task.immediate` returns.
        let reader = Task.immediate { try await borrowed.next() }
        let owner = Task.immediate { await borrowed.takeBack() }
        await source.yield(ByteBuffer(string: "late"))
        await owner.value
        #expect(try await reader.value == Array("late".utf8))
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await borrowed.next() }
        source.finish()
    }

    @Test("A second concurrent reader gets an error instead of crashing the process")
    func twoReaders() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        let first = Task.immediate { try await borrowed.next() }
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await borrowed.next() }
        source.finish()
        #expect(try await first.value == nil)
    }

    @Test("Parts that were read ahead come first as one part, and after the end every read returns nil")
    func readAhead() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        await source.yield(ByteBuffer(string: "one"))
        await source.yield(ByteBuffer(string: "two"))
        try await borrowed.readAhead(4)
        #expect(try await borrowed.next() == Array("onetwo".utf8))
        await source.yield(ByteBuffer(string: "three"))
        source.finish()
        try await borrowed.readAhead(100)
        #expect(try await borrowed.next() == Array("three".utf8))
        for _ in 0..<2 { #expect(try await borrowed.next() == nil) }
    }

    @Test("Bytes read ahead count against the limit, and no reader gets them after the body was taken back")
    func readAheadBounds() async throws {
        let over = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 3)
        await #expect(throws: BorrowedRequestBody.TooLong.self) { try await over.readAhead(1) }
        let taken = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 4)
        try await taken.readAhead(1)
        await taken.takeBack()
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await taken.next() }
    }

    @Test("A body of which nothing arrives for the idle timeout fails as stalled")
    func stalled() async throws {
        let clock = ManualClock()
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100, idleTimeout: .seconds(30), time: clock)
        await source.yield(ByteBuffer(string: "one"))
        let reader = Task.immediate { try await borrowed.readAhead(4) }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(30))
        await #expect(throws: BorrowedRequestBody.Stalled.self) { try await reader.value }
        source.finish()
    }

    /// Reads one part, which the client sends after `pause`.
    private func part(
        after pause: Duration, of borrowed: BorrowedRequestBody, from source: RequestBody.Source, _ clock: ManualClock
    ) async throws -> [UInt8]? {
        let reader = Task.immediate { try await borrowed.next() }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: pause)
        await source.yield(ByteBuffer(string: "a"))
        return try await reader.value
    }

    @Test("Slow parts are no stall, but the whole body must arrive by the deadline")
    func deadline() async throws {
        let clock = ManualClock()
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100, idleTimeout: .seconds(30), timeout: .seconds(100), time: clock)
        for _ in 0..<4 { #expect(try await part(after: .seconds(24), of: borrowed, from: source, clock) == Array("a".utf8)) }
        let reader = Task.immediate { try await borrowed.next() }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(4))
        await #expect(throws: BorrowedRequestBody.Stalled.self) { try await reader.value }
        source.finish()
    }

    @Test("Each part has its own idle timeout")
    func slowParts() async throws {
        let clock = ManualClock()
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100, idleTimeout: .seconds(10), time: clock)
        for _ in 0..<8 { #expect(try await part(after: .seconds(9), of: borrowed, from: source, clock) == Array("a".utf8)) }
        source.finish()
        #expect(try await borrowed.next() == nil)
    }

    @Test("A body whose reader was cancelled does not count as complete")
    func cancelled() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        await source.yield(ByteBuffer(string: "one"))
        let reader = Task.immediate { try await borrowed.readAhead(100) }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(borrowed.takeWhole() == nil)
        source.finish()
    }

    /// A body whose reader was cancelled before a part arrived.
    private func abandoned(
        limit: Int = 100, clock: ManualClock = ManualClock()
    ) async throws -> (
        BorrowedRequestBody, RequestBody.Source
    ) {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: limit, idleTimeout: .seconds(30), time: clock)
        let reader = Task.immediate { try await borrowed.next() }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        return (borrowed, source)
    }

    @Test("Parts that arrive after a reader was cancelled go to the next reader")
    func leftBehind() async throws {
        let (borrowed, source) = try await abandoned()
        await source.yield(ByteBuffer(string: "one"))
        await source.yield(ByteBuffer(string: "two"))
        source.finish()
        for part in ["one", "two"] { #expect(try await borrowed.next() == Array(part.utf8)) }
        #expect(try await borrowed.next() == nil)
    }

    @Test("Taking a body back does not wait for a read whose reader was cancelled")
    func takenBackAfterCancelling() async throws {
        let (borrowed, source) = try await abandoned()
        await borrowed.takeBack()
        source.finish()
    }

    @Test("A body is drained to its end even after its reader was cancelled, and no other reader gets it")
    func drained() async throws {
        let (borrowed, source) = try await abandoned()
        let isAtEnd = Shared(false)
        let owner = Task.immediate {
            await borrowed.drain()
            #expect(isAtEnd.value)
        }
        for _ in 0..<3 {
            await source.yield(ByteBuffer(string: "more"))
            await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await borrowed.next() }
        }
        isAtEnd.value = true
        source.finish()
        await owner.value
    }

    @Test("Draining ends when the body exceeds its limit or the idle timeout", arguments: [true, false])
    func drainedWithinBounds(isLong: Bool) async throws {
        let clock = ManualClock()
        let (borrowed, source) = try await abandoned(limit: 3, clock: clock)
        let owner = Task.immediate { await borrowed.drain() }
        if isLong {
            await source.yield(ByteBuffer(string: "long"))
        } else {
            await clock.sleepers(atLeast: 1)
            clock.advance(by: .seconds(30))
        }
        await owner.value
        source.finish()
    }

    @Test("A body can be taken whole only after it was read ahead to its end, and then no reader gets it")
    func takeWhole() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        await source.yield(ByteBuffer(string: "one"))
        try await borrowed.readAhead(1)
        #expect(borrowed.takeWhole() == nil)
        source.finish()
        try await borrowed.readAhead(100)
        #expect(borrowed.takeWhole() == Array("one".utf8))
        #expect(try await borrowed.next() == nil)
    }
}
