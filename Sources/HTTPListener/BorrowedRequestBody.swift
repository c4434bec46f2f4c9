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
        /// Whether the read that began last has come back.
        var hasRead = false
        /// The read that waits for the client, and until when it may.
        var wait: (read: Task<ByteBuffer?, any Error>, until: ContinuousClock.Instant)?
        /// Whether a read was given up because it waited for too long.
        var isStalled = false
        /// Gives such reads up; begun with the first one that waits.
        var watch: Task<Void, Never>?
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
    private let deadline: ContinuousClock.Instant?

    /// Lends a request's content out.
    /// - Parameters:
    ///   - body: the content, which nobody else reads
    ///   - limit: the most bytes it may have
    ///   - idleTimeout: how long nothing may come
    ///   - deadline: until when all of it must have come
    package init(_ body: RequestBody, limit: Int, idleTimeout: Duration = .seconds(30), deadline: ContinuousClock.Instant? = nil) {
        iterator = body.makeAsyncIterator()
        self.idleTimeout = idleTimeout
        self.deadline = deadline
        state = Mutex(State(remaining: limit))
    }

    deinit { state.withLock { $0.watch?.cancel() } }

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

    /// All of the content, when it was read ahead to its end, and nothing of it was taken; nil otherwise.
    package func takeWhole() -> [UInt8]? {
        state.withLock { $0.isAtEnd ? $0.takeAhead() : nil }
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
                state.watch?.cancel()
                guard state.isReading else { return true }
                state.waiter = waiter
                return false
            }
            if isFree { waiter.resume() }
        }
    }

    /// The next part, or the error of a client that sends nothing for too long: its request would hold a place that others want.
    private func nextInTime() async throws -> ByteBuffer? {
        if let deadline, .now >= deadline { throw Stalled() }
        // What is there already has been read when this returns.
        let read = Task.immediate {
            defer {
                state.withLock { state in
                    state.hasRead = true
                    state.wait = nil
                }
            }
            return try await iterator.next()
        }
        watch(read)
        let part = await withTaskCancellationHandler {
            await read.result
        } onCancel: {
            read.cancel()
        }
        // A content whose read was given up may look like one that has ended.
        guard !read.isCancelled else { throw state.withLock(\.isStalled) ? Stalled() : CancellationError() as any Error }
        return try part.get()
    }

    /// Has a read given up when it waits for too long.
    private func watch(_ read: Task<ByteBuffer?, any Error>) {
        state.withLock { state in
            guard !state.hasRead else { return }
            state.wait = (read, limit(from: .now))
            guard state.watch == nil else { return }
            // One timer for a content: a timer stays until its time, even cancelled, and one for each part would cost more than the parts.
            state.watch = Task { [weak self] in
                while let next = self?.giveUpLateRead() {
                    guard (try? await Task.sleep(until: next, clock: .continuous)) != nil else { return }
                }
            }
        }
    }

    /// Gives up a read that has waited for too long.
    /// - Returns: when to look again; nil: never
    private func giveUpLateRead() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        let (late, next) = state.withLock { state -> (Task<ByteBuffer?, any Error>?, ContinuousClock.Instant?) in
            guard !state.isTakenBack, !state.isAtEnd else { return (nil, nil) }
            guard let wait = state.wait, wait.until <= now else { return (nil, state.wait?.until ?? limit(from: now)) }
            state.isStalled = true
            return (wait.read, nil)
        }
        late?.cancel()
        return next
    }

    /// Until when a read that begins now may wait.
    private func limit(from now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let idle = now + idleTimeout
        guard let deadline, now < deadline else { return idle }
        return Swift.min(idle, deadline)
    }

    private func begin() throws(TakenBack) {
        let isOurs = state.withLock { state in
            guard !state.isTakenBack, !state.isReading else { return false }
            (state.isReading, state.hasRead) = (true, false)
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
