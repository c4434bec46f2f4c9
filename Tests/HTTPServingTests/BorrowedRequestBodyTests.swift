import ApproovTesting
import Hummingbird
import NIOCore
import Testing

@testable import HTTPServing

@Suite(.timeLimit(.minutes(1))) struct BorrowedRequestBodyTests {
    @Test("the parts come in order, to the next reader")
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

    @Test("one byte more than the limit is an error, and exactly the limit is not")
    func limit() async throws {
        let exact = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abc")), limit: 3)
        #expect(try await exact.next()?.count == 3)
        let over = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 3)
        await #expect(throws: BorrowedRequestBody.TooLong.self) { try await over.next() }
    }

    @Test("a content that was taken back is read no further, and taking it back waits for a read that is under way")
    func takenBack() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        // Both wait when they return.
        let reader = Task.immediate { try await borrowed.next() }
        let owner = Task.immediate { await borrowed.takeBack() }
        await source.yield(ByteBuffer(string: "late"))
        await owner.value
        #expect(try await reader.value == Array("late".utf8))
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await borrowed.next() }
        source.finish()
    }

    @Test("a second reader at once is refused instead of ending the process")
    func twoReaders() async throws {
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100)
        let first = Task.immediate { try await borrowed.next() }
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await borrowed.next() }
        source.finish()
        #expect(try await first.value == nil)
    }

    @Test("what was read ahead comes first, at once and whole, and the end is read no further")
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

    @Test("what was read ahead counts against the limit, and no reader gets it once the content was taken back")
    func readAheadBounds() async throws {
        let over = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 3)
        await #expect(throws: BorrowedRequestBody.TooLong.self) { try await over.readAhead(1) }
        let taken = BorrowedRequestBody(RequestBody(buffer: ByteBuffer(string: "abcd")), limit: 4)
        try await taken.readAhead(1)
        await taken.takeBack()
        await #expect(throws: BorrowedRequestBody.TakenBack.self) { try await taken.next() }
    }

    @Test("a content of which nothing comes for too long ends with that error")
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

    /// Reads one part, for which the client takes `pause`.
    private func part(
        after pause: Duration, of borrowed: BorrowedRequestBody, from source: RequestBody.Source, _ clock: ManualClock
    ) async throws -> [UInt8]? {
        let reader = Task.immediate { try await borrowed.next() }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: pause)
        await source.yield(ByteBuffer(string: "a"))
        return try await reader.value
    }

    @Test("slow parts are no stall, but all of them must have come by the deadline")
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

    @Test("each part may take as long as the idle timeout")
    func slowParts() async throws {
        let clock = ManualClock()
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100, idleTimeout: .seconds(10), time: clock)
        for _ in 0..<8 { #expect(try await part(after: .seconds(9), of: borrowed, from: source, clock) == Array("a".utf8)) }
        source.finish()
        #expect(try await borrowed.next() == nil)
    }

    @Test("a content whose reader is cancelled is not taken for one that has ended")
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

    /// A content whose reader was cancelled while nothing came.
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

    @Test("what comes once a reader was cancelled is for the next one")
    func leftBehind() async throws {
        let (borrowed, source) = try await abandoned()
        await source.yield(ByteBuffer(string: "one"))
        await source.yield(ByteBuffer(string: "two"))
        source.finish()
        for part in ["one", "two"] { #expect(try await borrowed.next() == Array(part.utf8)) }
        #expect(try await borrowed.next() == nil)
    }

    @Test("taking back does not wait for a read that no caller waits for")
    func takenBackAfterCancelling() async throws {
        let (borrowed, source) = try await abandoned()
        await borrowed.takeBack()
        source.finish()
    }

    @Test("a content is drained to its end, also when its reader was cancelled, and no other reader gets it any more")
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

    @Test("draining ends with the content's bounds: too many bytes, or none for too long", arguments: [true, false])
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

    @Test("only what was read ahead to its end is there whole, and once")
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
