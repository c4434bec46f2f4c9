import Hummingbird
import NIOCore
import Testing

@testable import HTTPListener

@Suite(.timeLimit(.minutes(1))) struct BorrowedRequestBodyTests {
    @Test("the parts come in order, to whoever reads next")
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

    @Test("one byte more than the limit is an error, and exactly the limit is none")
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
        let reader = Task { try await borrowed.next() }
        try await Task.sleep(for: .milliseconds(50))
        let owner = Task { await borrowed.takeBack() }
        try await Task.sleep(for: .milliseconds(50))
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
        let first = Task { try await borrowed.next() }
        try await Task.sleep(for: .milliseconds(50))
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

    @Test("what was read ahead counts against the limit, and nobody gets it once the content was taken back")
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
        let (body, source) = RequestBody.makeStream()
        let borrowed = BorrowedRequestBody(body, limit: 100, idleTimeout: .milliseconds(20))
        await source.yield(ByteBuffer(string: "one"))
        await #expect(throws: BorrowedRequestBody.Stalled.self) { try await borrowed.readAhead(4) }
        source.finish()
    }
}
