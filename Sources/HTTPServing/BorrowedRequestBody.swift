package import Hummingbird
internal import NIOCore
internal import Synchronization

/// A request's content, lent to a task that may outlive the handler, until the handler takes it back.
///
/// After the handler Hummingbird reads on, to come to the next request, and two concurrent readers end the process (NIO's sequences allow
/// only one). So a handler that lends a request's content out must wait, before the response's end, until no task reads it any more.
package final class BorrowedRequestBody: AsyncSequence, Sendable {
    package typealias Element = [UInt8]

    /// The content exceeds its limit.
    package struct TooLong: Error {
        package init() {}
    }

    /// The handler took the content back.
    package struct TakenBack: Error {}

    /// Nothing came for as long as the idle timeout, or the deadline has passed.
    package struct Stalled: Error {
        package init() {}
    }

    private struct State {
        /// Whether a task is in `next`.
        var isReading = false
        /// Whether a read has begun and not returned: that of the task in `next`, or of one that was cancelled in there.
        var isUnderWay = false
        /// The read that waits for the client, and until when it may wait.
        var wait: (read: Task<Void, Never>, until: ContinuousClock.Instant)?
        /// Receives the read's result.
        var reader: CheckedContinuation<Landed, Never>?
        /// A read's result that no task has taken yet.
        var landed: Landed?
        /// Whether a read was given up because it waited for too long.
        var isStalled = false
        /// Gives up reads that wait for too long; started with the first read that waits.
        var watch: Task<Void, Never>?
        var isTakenBack = false
        var isDraining = false
        /// The handler that waits until no task is in `next`, and no read is under way unless the handler itself continues it.
        var handler: CheckedContinuation<Void, Never>?
        var remaining: Int
        /// The bytes that were read before the content was lent out.
        var ahead: [UInt8] = []
        var isAtEnd = false

        /// Whether the handler may continue.
        var isFree: Bool { !isReading && (isDraining || !isUnderWay) }

        /// The read that a cancelled task left behind, if the handler must wait for it.
        var abandonedRead: Task<Void, Never>? { isTakenBack && !isDraining && !isReading && isUnderWay ? wait?.read : nil }

        /// Takes out the waiting handler, if it may continue.
        mutating func takeHandler() -> CheckedContinuation<Void, Never>? { isFree ? handler.take() : nil }

        /// Returns what is known without reading: the bytes read ahead, or an empty array at the end; nil when a read is needed.
        mutating func takeAhead() -> [UInt8]? {
            guard !isTakenBack, !ahead.isEmpty || isAtEnd else { return nil }
            defer { ahead = [] }
            return ahead
        }
    }

    private typealias Landed = Result<ByteBuffer?, any Error>

    // Used only by the one read that is under way.
    private nonisolated(unsafe) var iterator: RequestBody.AsyncIterator
    private let state: Mutex<State>
    private let idleTimeout: Duration
    private let deadline: ContinuousClock.Instant?

    /// Lends a request's content out.
    ///
    /// - Parameters:
    ///   - body: The content, which no other task reads.
    ///   - limit: The most bytes it may have.
    ///   - idleTimeout: The longest time without any bytes.
    ///   - deadline: The time by which all of it must have come.
    package init(_ body: RequestBody, limit: Int, idleTimeout: Duration = .seconds(30), deadline: ContinuousClock.Instant? = nil) {
        iterator = body.makeAsyncIterator()
        self.idleTimeout = idleTimeout
        self.deadline = deadline
        state = Mutex(State(remaining: limit))
    }

    deinit { state.withLock { $0.watch?.cancel() } }

    /// The next part; nil at the end.
    ///
    /// For one reader at a time, in any task.
    ///
    /// - Throws: `TooLong`, `TakenBack` or `Stalled`; `CancellationError` when the task is cancelled; the connection's error.
    package func next() async throws -> [UInt8]? {
        if let ahead = state.withLock({ $0.takeAhead() }) { return ahead.isEmpty ? nil : ahead }
        return try await read()
    }

    /// Waits for the beginning of the content, which `next` then returns as its first part.
    ///
    /// For the handler, before it lends the content out, so that a request takes no shared resource until some of its content is there.
    ///
    /// - Parameter count: The number of bytes to wait for; shorter content is read to its end.
    /// - Throws: The errors of `next`.
    package func readAhead(_ count: Int) async throws {
        var ahead: [UInt8] = []
        while ahead.count < count, let part = try await next() { ahead += part }
        state.withLock { $0.ahead = ahead }
    }

    /// The whole content, if it was read ahead to its end and nothing of it was taken; nil otherwise.
    package func takeWhole() -> [UInt8]? {
        state.withLock { $0.isAtEnd ? $0.takeAhead() : nil }
    }

    /// Continues reading: all iterators share one position.
    package func makeAsyncIterator() -> Iterator { Iterator(body: self) }

    /// Waits until no task reads, and lets no task read from then on.
    ///
    /// The reader must be ending: its task cancelled, or its transfer over.
    package func takeBack() async {
        await waitForReader(isDraining: false)
    }

    /// Takes the content back, then reads and drops the rest, within the same limits.
    ///
    /// For an answer that comes before its request's end: a client that keeps sending reads the answer only after it has sent everything,
    /// and until then its connection would count as idle and be closed. As for ``takeBack()``, the reader must be ending.
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

    /// The next part, or an error when the client sends nothing for too long: its request would hold a place that others want.
    ///
    /// A task that is cancelled here leaves its read to the next reader: to cancel the read as well would end the content for every reader.
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

    /// Begins a read, unless a cancelled task left one under way.
    private func startRead() {
        let isFirst = state.withLock { state in
            guard !state.isUnderWay, state.landed == nil else { return false }
            state.isUnderWay = true
            return true
        }
        guard isFirst else { return }
        // Content that is here already has been read when this returns.
        let read = Task.immediate {
            let result: Landed
            do {
                let part = try await iterator.next()
                // A cancelled read may look as if the content had ended.
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

    /// Makes sure that a read that waits for too long is given up.
    private func watch(_ read: Task<Void, Never>) {
        state.withLock { state in
            guard state.isUnderWay else { return }
            state.wait = (read, limit(from: .now))
            guard state.watch == nil else { return }
            // One timer for the whole content: a timer stays until its time, even if cancelled, and one for each part would cost more than
            // the parts.
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

    /// The time until which a read that begins now may wait.
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

    /// Ends a read; false when the content exceeds its limit.
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

    /// Reads the parts of lent content.
    package struct Iterator: AsyncIteratorProtocol {
        let body: BorrowedRequestBody

        package mutating func next() async throws -> [UInt8]? { try await body.next() }
    }
}
