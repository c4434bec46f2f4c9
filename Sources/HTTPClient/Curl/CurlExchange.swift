import Synchronization

/// What the requesting task and the driver share of one transfer: the head, the unread parts of the body, the end.
final class CurlExchange: Sendable {
    /// The head as received; the requesting task parses it, not the driver.
    struct RawHead: Equatable, Sendable {
        var bytes: [UInt8] = []
        var isDecoded = false
    }

    typealias State = CurlExchangeState<
        RawHead, CheckedContinuation<RawHead, any Error>, CheckedContinuation<[UInt8]?, any Error>
    >

    private let state = Mutex(State())
    private let arrival = Atomic<UInt64>(0)

    // MARK: The requesting task

    /// When the head, or the failure that came instead of it, was handed over, in the driver's nanoseconds; 0 before.
    var headArrival: UInt64 { arrival.load(ordering: .relaxed) }

    /// Waits for the head.
    ///
    /// - Throws: The transfer's failure.
    func head() async throws -> RawHead {
        if let result = state.withLock({ $0.takeHead() }) { return try result.get() }
        return try await withCheckedThrowingContinuation { waiter in
            if let result = state.withLock({ $0.takeHead(or: waiter) }) { waiter.resume(with: result) }
        }
    }

    /// Takes what is there of the body without waiting.
    func readNow() -> State.Read { state.withLock { $0.read() } }

    /// Waits for the next part of the body; nil at its end.
    ///
    /// - Parameter unpause: Called when enough has been read for receiving to continue.
    /// - Returns: At least one byte, or nil.
    /// - Throws: The transfer's failure.
    func next(unpause: () -> Void) async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { waiter in
            let (read, displaced) = state.withLock { $0.read(or: waiter) }
            displaced?.resume(throwing: CancellationError())
            switch read {
            case .part(let part, let mayGoOn):
                if mayGoOn { unpause() }
                waiter.resume(returning: part)
            case .end(let result): waiter.resume(with: result.map { nil })
            case .wait: break
            }
        }
    }

    /// The trailer section as received; empty before the transfer's end.
    var trailers: [UInt8] { state.withLock { $0.trailers } }

    // MARK: The driver

    /// Hands the head to the requesting task.
    ///
    /// Later calls do nothing.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - now: The driver's nanoseconds.
    func deliver(_ head: RawHead, now: UInt64) {
        let waiter = state.withLock { $0.deliver(.success(head)) }
        noteArrival(now)
        waiter?.resume(returning: head)
    }

    /// Takes a part of the body; false when too much waits already, and receiving must pause.
    func append(_ part: UnsafeBufferPointer<UInt8>) -> Bool {
        switch state.withLock({ $0.append(part) }) {
        case .kept: return true
        case .refused: return false
        case .wanted(let reader):
            reader.resume(returning: [UInt8](part))
            return true
        }
    }

    /// Whether nothing more will come from the network.
    var isOver: Bool { state.withLock { $0.end != nil } }

    /// Whether receiving waits for the consumer.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Ends the exchange; the first end counts.
    ///
    /// The end is set before the head is handed over, so that a small response is complete when its reader wakes.
    func finish(_ result: Result<Void, any Error>, head: RawHead? = nil, trailers: [UInt8] = [], now: UInt64) {
        let headResult: Result<RawHead, any Error> = result.flatMap {
            head.map { .success($0) }
                ?? .failure(
                    TransportError(.connectionLost, "the connection ended before the response's header section was complete"))
        }
        let (headWaiter, bodyWaiter) = state.withLock { $0.finish(result, head: headResult, trailers: trailers) }
        noteArrival(now)
        bodyWaiter?.resume(with: result.map { nil })
        headWaiter?.resume(with: headResult)
    }

    private func noteArrival(_ now: UInt64) {
        // 0 means that nothing has come.
        if headArrival == 0 { arrival.store(max(now, 1), ordering: .relaxed) }
    }
}
