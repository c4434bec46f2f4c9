import Synchronization

/// What the requesting task and the driver's thread share of one transfer: the head, the unread parts of the body, the end.
final class CurlExchange: Sendable {
    /// The head as received; the requesting task parses it, not the driver's thread.
    struct RawHead: Equatable, Sendable {
        var bytes: [UInt8] = []
        var isDecoded = false
    }

    private typealias State = CurlExchangeState<CheckedContinuation<RawHead, any Error>, CheckedContinuation<[UInt8]?, any Error>>

    private let state = Mutex(State())

    // MARK: The requesting task

    /// Registers the continuation that waits for the head; call it before the transfer starts.
    func expectHead(_ waiter: CheckedContinuation<RawHead, any Error>) {
        state.withLock { $0.expectHead(waiter) }
    }

    /// The next part of the body; nil at its end.
    ///
    /// - Parameter unpause: Called when enough has been read for receiving to continue.
    /// - Returns: At least one byte, or nil.
    /// - Throws: The transfer's failure.
    func next(unpause: () -> Void) async throws -> [UInt8]? {
        switch state.withLock({ $0.read() }) {
        case .part(let part, let mayGoOn):
            if mayGoOn { unpause() }
            return part
        case .end(let result):
            try result.get()
            return nil
        case .wait:
            return try await withCheckedThrowingContinuation { waiter in
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
    }

    /// The trailer section as received; empty before the transfer's end.
    var trailers: [UInt8] { state.withLock { $0.trailers } }

    // MARK: The driver

    /// Hands the head to the requesting task.
    ///
    /// Later calls do nothing.
    func deliver(_ head: RawHead) {
        let waiter = state.withLock { $0.takeHeadWaiter() }
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
    func finish(_ result: Result<Void, any Error>, head: RawHead? = nil, trailers: [UInt8] = []) {
        let (headWaiter, bodyWaiter) = state.withLock { $0.finish(result, trailers: trailers) }
        bodyWaiter?.resume(with: result.map { nil })
        switch (result, head) {
        case (.success, .some(let head)): headWaiter?.resume(returning: head)
        case (.success, nil):
            headWaiter?.resume(
                throwing: TransportError(.connectionLost, "the connection ended before the response's header section was complete"))
        case (.failure(let error), _): headWaiter?.resume(throwing: error)
        }
    }
}
