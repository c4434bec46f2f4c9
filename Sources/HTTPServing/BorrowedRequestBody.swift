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
        /// Whether somebody is in `next`.
        var isReading = false
        /// Whether a read has begun and not come back: that of whoever is in `next`, or of one who was cancelled in there.
        var isUnderWay = false
        /// The read that waits for the client, and until when it may.
        var wait: (read: Task<Void, Never>, until: ContinuousClock.Instant)?
        /// Takes what the read brings.
        var reader: CheckedContinuation<Landed, Never>?
        /// What a read has brought that nobody took.
        var landed: Landed?
        /// Whether a read was given up because it waited for too long.
        var isStalled = false
        /// Gives such reads up; begun with the first one that waits.
        var watch: Task<Void, Never>?
        var isTakenBack = false
        var isDraining = false
        /// The handler, until nobody is in `next`, and no read under way unless it goes on with that itself.
        var handler: CheckedContinuation<Void, Never>?
        var remaining: Int
        /// What was read before the content was lent out.
        var ahead: [UInt8] = []
        var isAtEnd = false

        /// Whether the handler need not wait.
        var isFree: Bool { !isReading && (isDraining || !isUnderWay) }

        /// The read that whoever waited for it has left, when it is in the handler's way.
        var abandonedRead: Task<Void, Never>? { isTakenBack && !isDraining && !isReading && isUnderWay ? wait?.read : nil }

        /// The handler, when it need not wait any more.
        mutating func takeHandler() -> CheckedContinuation<Void, Never>? { isFree ? handler.take() : nil }

        /// What is known without reading: bytes, or none at the end; nil when there is something to read.
        mutating func takeAhead() -> [UInt8]? {
            guard !isTakenBack, !ahead.isEmpty || isAtEnd else { return nil }
            defer { ahead = [] }
            return ahead
        }
    }

    private typealias Landed = Result<ByteBuffer?, any Error>

    // Touched by the one read that is under way alone.
    private nonisolated(unsafe) var iterator: RequestBody.AsyncIterator
    private let state: Mutex<State>
    private let idleTimeout: Duration
    private let deadline: ContinuousClock.Instant?

    /// Lends a request's content out.
    ///
    /// - Parameters:
    ///   - body: The content, which nobody else reads.
    ///   - limit: The most bytes it may have.
    ///   - idleTimeout: How long nothing may come.
    ///   - deadline: Until when all of it must have come.
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
    ///
    /// - Throws: `TooLong`, `TakenBack`, `Stalled`, or what happened to the connection.
    package func next() async throws -> [UInt8]? {
        if let ahead = state.withLock({ $0.takeAhead() }) { return ahead.isEmpty ? nil : ahead }
        return try await read()
    }

    /// Waits for the beginning of the content, which `next` then returns as its first part.
    ///
    /// For the handler, before it lends the content out: a request takes nothing that others want until something of it is there.
    ///
    /// - Parameter count: How many bytes to wait for, or all of a shorter content.
    /// - Throws: As `next`.
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
        await waitForReader(isDraining: false)
    }

    /// Takes the content back, reads what is left of it and drops that, within the bounds that it has.
    ///
    /// For an answer that comes before its request's end: a client that goes on sending reads it once it has sent all, and until then its
    /// connection would be an idle one, which is closed. As for ``takeBack()``, the reader must be ending.
    package func drain() async {
        await waitForReader(isDraining: true)
        while !state.withLock(\.isAtEnd), (try? await read(isDraining: true)) != nil {}
        await takeBack()
    }

    private func waitForReader(isDraining: Bool) async {
        await withCheckedContinuation { handler in
            let (isFree, abandoned) = state.withLock { state in
                (state.isTakenBack, state.isDraining) = (true, isDraining)
                if !isDraining { state.watch?.cancel() }
                if !state.isFree { state.handler = handler }
                return (state.isFree, state.abandonedRead)
            }
            abandoned?.cancel()
            if isFree { handler.resume() }
        }
    }

    private func read(isDraining: Bool = false) async throws -> [UInt8]? {
        try begin(isDraining: isDraining)
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

    /// The next part, or the error of a client that sends nothing for too long: its request would hold a place that others want.
    ///
    /// Whoever is cancelled here leaves the read to the next one: to cancel that, too, would end the content for everybody.
    private func nextInTime() async throws -> ByteBuffer? {
        if let deadline, .now >= deadline { throw Stalled() }
        startRead()
        if let landed = state.withLock({ $0.landed.take() }) { return try landed.get() }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let landed = state.withLock { state -> Landed? in
                    if let landed = state.landed.take() { return landed }
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    state.reader = reader
                    return nil
                }
                if let landed { reader.resume(returning: landed) }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume(returning: .failure(CancellationError()))
        }.get()
    }

    /// Begins a read, unless there is one that whoever waited for it has left.
    private func startRead() {
        let isFirst = state.withLock { state in
            guard !state.isUnderWay, state.landed == nil else { return false }
            state.isUnderWay = true
            return true
        }
        guard isFirst else { return }
        // What is there already has been read when this returns.
        let read = Task.immediate {
            let result: Landed
            do {
                let part = try await iterator.next()
                // A content whose read was given up may look like one that has ended.
                result = Task.isCancelled ? .failure(state.withLock(\.isStalled) ? Stalled() : TakenBack()) : .success(part)
            } catch {
                result = .failure(Task.isCancelled && state.withLock(\.isStalled) ? Stalled() : error)
            }
            land(result)
        }
        watch(read)
    }

    private func land(_ result: Landed) {
        let (reader, handler) = state.withLock { state in
            state.isUnderWay = false
            state.wait = nil
            let reader = state.reader.take()
            if reader == nil { state.landed = result }
            return (reader, state.takeHandler())
        }
        reader?.resume(returning: result)
        handler?.resume()
    }

    /// Has a read given up when it waits for too long.
    private func watch(_ read: Task<Void, Never>) {
        state.withLock { state in
            guard state.isUnderWay else { return }
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
    ///
    /// - Returns: When to look again; nil: never.
    private func giveUpLateRead() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        let (late, next) = state.withLock { state -> (Task<Void, Never>?, ContinuousClock.Instant?) in
            guard !state.isTakenBack || state.isDraining, !state.isAtEnd else { return (nil, nil) }
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

    private func begin(isDraining: Bool) throws(TakenBack) {
        let isOurs = state.withLock { state in
            guard !state.isTakenBack || isDraining, !state.isReading else { return false }
            state.isReading = true
            return true
        }
        if !isOurs { throw TakenBack() }
    }

    /// Ends a read; false when there have been too many bytes.
    private func end(read count: Int) -> Bool {
        let (handler, abandoned, isWithin) = state.withLock { state in
            state.isReading = false
            state.remaining -= count
            return (state.takeHandler(), state.abandonedRead, state.remaining >= 0)
        }
        abandoned?.cancel()
        handler?.resume()
        return isWithin
    }

    /// Reads the parts of a content that was lent out.
    package struct Iterator: AsyncIteratorProtocol {
        let body: BorrowedRequestBody

        package mutating func next() async throws -> [UInt8]? { try await body.next() }
    }
}
