package import Hummingbird
internal import NIOCore
internal import Synchronization

/// A request's content, lent to a task that may outlive the handler, until the handler takes it back.
///
/// Hummingbird reads on where the handler stopped, to come to the next request; two readers at once end the process (NIO's sequences
/// are for one). So whoever lends a request's content out waits, before the response's end, until nobody reads it any more.
package final class BorrowedRequestBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    /// The content is longer than it may be.
    package struct TooLong: Error {
        package init() {}
    }

    /// The handler took the content back.
    package struct TakenBack: Error {}

    /// Nothing came for as long as the idle timeout.
    package struct Stalled: Error {
        package init() {}
    }

    private struct State {
        var isReading = false
        var isTakenBack = false
        var waiter: CheckedContinuation<Void, Never>?
        var remaining: Int
        /// What was read before the content was lent out.
        var ahead: [UInt8] = []
        var isAtEnd = false

        /// What is known without reading: bytes, or none at the end; nil when there is something to read.
        mutating func takeAhead() -> [UInt8]? {
            guard !isTakenBack, !ahead.isEmpty || isAtEnd else { return nil }
            defer { ahead = [] }
            return ahead
        }
    }

    // Touched between begin() and end() alone, which let one reader in at a time.
    private nonisolated(unsafe) var iterator: RequestBody.AsyncIterator
    private let state: Mutex<State>
    private let idleTimeout: Duration

    /// Lends a request's content out.
    /// - Parameters:
    ///   - body: the content, which nobody else reads
    ///   - limit: the most bytes it may have
    ///   - idleTimeout: how long nothing may come
    package init(_ body: RequestBody, limit: Int, idleTimeout: Duration = .seconds(30)) {
        iterator = body.makeAsyncIterator()
        self.idleTimeout = idleTimeout
        state = Mutex(State(remaining: limit))
    }

    /// The next part, nil at the end.
    ///
    /// For one reader at a time, whichever task it is in.
    /// - Throws: `TooLong`, `TakenBack`, `Stalled`, or what happened to the connection
    package func next() async throws -> [UInt8]? {
        if let ahead = state.withLock({ $0.takeAhead() }) { return ahead.isEmpty ? nil : ahead }
        try begin()
        let part: ByteBuffer?
        do {
            part = try await nextInTime()
        } catch {
            _ = end(read: 0)
            throw error
        }
        guard end(read: part?.readableBytes ?? 0) else { throw TooLong() }
        if part == nil { state.withLock { $0.isAtEnd = true } }
        return part.map { Array($0.readableBytesView) }
    }

    /// Waits for the beginning of the content, which `next` then returns as its first part.
    ///
    /// For the handler, before it lends the content out: a request takes nothing that others want until something of it is there.
    /// - Parameter count: how many bytes to wait for, or all of a shorter content
    /// - Throws: as `next`
    package func readAhead(_ count: Int) async throws {
        var ahead: [UInt8] = []
        while ahead.count < count, let part = try await next() { ahead += part }
        state.withLock { $0.ahead = ahead }
    }

    /// Goes on reading; what one iterator has read, no other reads again.
    package func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    /// Waits until nobody reads, and lets nobody read from then on.
    ///
    /// The reader must be ending: its task cancelled, or its transfer over.
    package func takeBack() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                state.isTakenBack = true
                guard state.isReading else { return true }
                state.waiter = waiter
                return false
            }
            if isFree { waiter.resume() }
        }
    }

    /// The next part, or the error of a client that sends nothing for too long: its request would hold a place that others want.
    private func nextInTime() async throws -> ByteBuffer? {
        try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            group.addTask { try await self.iterator.next() }
            group.addTask { [idleTimeout] in
                try await Task.sleep(for: idleTimeout, clock: .continuous)
                throw Stalled()
            }
            defer { group.cancelAll() }
            guard let part = try await group.next() else { return nil }
            return part
        }
    }

    private func begin() throws(TakenBack) {
        let isOurs = state.withLock { state in
            guard !state.isTakenBack, !state.isReading else { return false }
            state.isReading = true
            return true
        }
        if !isOurs { throw TakenBack() }
    }

    /// Ends a read; false when there have been too many bytes.
    private func end(read count: Int) -> Bool {
        let (waiter, isWithin) = state.withLock { state in
            state.isReading = false
            state.remaining -= count
            defer { state.waiter = nil }
            return (state.waiter, state.remaining >= 0)
        }
        waiter?.resume()
        return isWithin
    }

    /// Reads the parts of a content that was lent out.
    package struct Iterator: AsyncIteratorProtocol {
        let body: BorrowedRequestBody

        package mutating func next() async throws -> [UInt8]? { try await body.next() }
    }
}
