package import ApproovBase
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

    private typealias Outcome = Result<[UInt8]?, any Error>
    private typealias State = BorrowedRequestBodyState<CheckedContinuation<Outcome, Never>, CheckedContinuation<Void, Never>>

    private struct Guarded {
        var state: State
        /// The read that waits for the client.
        var read: Task<Void, Never>?
        /// Gives up reads that wait for too long; started with the first read that waits.
        var watch: Task<Void, Never>?
    }

    // Used only by the one read that is under way.
    private nonisolated(unsafe) var iterator: RequestBody.AsyncIterator
    private let guarded: Mutex<Guarded>
    private let time: any TimeSource

    /// Lends a request's content out.
    ///
    /// - Parameters:
    ///   - body: The content, which no other task reads.
    ///   - limit: The most bytes it may have.
    ///   - idleTimeout: The longest time without any bytes.
    ///   - timeout: The time, from now, in which all of it must have come; nil for no limit.
    ///   - time: The clock.
    package init(
        _ body: RequestBody, limit: Int, idleTimeout: Duration = .seconds(30), timeout: Duration? = nil,
        time: any TimeSource = SystemTimeSource()
    ) {
        iterator = body.makeAsyncIterator()
        self.time = time
        let deadline = timeout.map { time.uptime + $0 }
        guarded = Mutex(Guarded(state: State(limit: limit, idleTimeout: idleTimeout, deadline: deadline)))
    }

    deinit { guarded.withLock { $0.watch?.cancel() } }

    /// The next part; nil at the end.
    ///
    /// For one reader at a time, in any task.
    ///
    /// - Throws: `TooLong`, `TakenBack` or `Stalled`; `CancellationError` when the task is cancelled; the connection's error.
    package func next() async throws -> [UInt8]? {
        try await read()
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
        let bytes = ahead
        guarded.withLock { $0.state.keep(bytes) }
    }

    /// The whole content, if it was read ahead to its end and nothing of it was taken; nil otherwise.
    package func takeWhole() -> [UInt8]? {
        guarded.withLock { $0.state.takeWhole() }
    }

    /// Ends the time limit for the whole content; the limit for the time without any bytes stays.
    ///
    /// For a handler that has read what must come soon, and lends out content that may take long.
    package func liftDeadline() { guarded.withLock { $0.state.liftDeadline() } }

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
        while (try? await read(isDraining: true)) != nil {}
        await takeBack()
    }

    private func waitForReader(isDraining: Bool) async {
        if !isDraining { guarded.withLock { $0.watch?.cancel() } }
        await withCheckedContinuation { handler in apply { $0.takeBack(handler, isDraining: isDraining) } }
    }

    private func read(isDraining: Bool = false) async throws -> [UInt8]? {
        let now = time.uptime
        let id: State.ReaderID
        switch guarded.withLock({ $0.state.enter(isDraining: isDraining, now: now) }) {
        case .done(let outcome): return try outcome.get()
        case .join(let reader): id = reader
        case .start(let reader):
            id = reader
            if let outcome = startRead(for: id) { return try outcome.get() }
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { reader in apply { $0.enlist(reader, id, isCancelled: Task.isCancelled) } }
        } onCancel: {
            apply { $0.withdraw(id) }
        }.get()
    }

    /// Begins a read.
    ///
    /// - Returns: The outcome if it is known at once, because the content is here already; nil when the reader must wait.
    private func startRead(for id: State.ReaderID) -> Outcome? {
        // Content that is here already has been read when this returns.
        let read = Task.immediate {
            let result: Outcome
            do {
                result = .success(try await iterator.next().map { Array($0.readableBytesView) })
            } catch {
                result = .failure(error)
            }
            let isCancelled = Task.isCancelled
            apply { $0.land(result, isCancelled: isCancelled) }
        }
        if let (outcome, actions) = guarded.withLock({ $0.state.collect(id) }) {
            perform(actions, cancelling: nil)
            return outcome
        }
        let now = time.uptime
        let isFirstWait = guarded.withLock { guarded in
            guarded.read = read
            return guarded.state.readWaits(now: now)
        }
        if isFirstWait { watch() }
        return nil
    }

    /// Changes the state, and does outside the lock what it asks for.
    private func apply(_ change: @Sendable (inout State) -> State.Actions) {
        let (actions, read) = guarded.withLock { guarded in
            let actions = change(&guarded.state)
            return (actions, actions.cancelsRead ? guarded.read : nil)
        }
        perform(actions, cancelling: read)
    }

    private func perform(_ actions: State.Actions, cancelling read: Task<Void, Never>?) {
        read?.cancel()
        if let (reader, outcome) = actions.resumed { reader.resume(returning: outcome) }
        actions.handler?.resume()
    }

    /// Gives up reads that wait for too long.
    ///
    /// One timer for the whole content: a timer stays until its time, even if cancelled, and one for each part would cost more than the
    /// parts.
    private func watch() {
        let watch = Task { [weak self, time] in
            while let next = self?.giveUpLateRead() {
                guard (try? await time.sleep(for: Swift.max(.zero, next - time.uptime))) != nil else { return }
            }
        }
        guarded.withLock { $0.watch = watch }
    }

    /// Gives up a read that has waited for too long.
    ///
    /// - Returns: The uptime at which to look again; nil: never.
    private func giveUpLateRead() -> Duration? {
        let now = time.uptime
        let (look, read) = guarded.withLock { ($0.state.lookForStall(now: now), $0.read) }
        switch look {
        case .again(let next): return next
        case .stop: return nil
        case .cancelRead:
            read?.cancel()
            return nil
        }
    }

    /// Reads the parts of lent content.
    package struct Iterator: AsyncIteratorProtocol {
        let body: BorrowedRequestBody

        package mutating func next() async throws -> [UInt8]? { try await body.next() }
    }
}
