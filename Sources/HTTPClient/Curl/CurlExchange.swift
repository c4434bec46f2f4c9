import DequeModule
import Synchronization

/// What the requesting task and the driver's thread share of one transfer: the head, the unread parts of the body, the end.
final class CurlExchange: Sendable {
    /// The head as received; the requesting task parses it, not the driver's thread.
    struct RawHead: Equatable, Sendable {
        var bytes: [UInt8] = []
        var isDecoded = false
    }

    /// Receiving pauses when this many bytes wait to be read, and continues when half of them have been read.
    static let highWater = 512 * 1024

    private struct State {
        var headWaiter: CheckedContinuation<RawHead, any Error>?
        var parts: Deque<[UInt8]> = []
        var buffered = 0
        var isPaused = false
        var bodyWaiter: CheckedContinuation<[UInt8]?, any Error>?
        var end: Result<Void, any Error>?
        var trailers: [UInt8] = []
    }

    private enum Read {
        case part([UInt8], unpause: Bool)
        case end(Result<Void, any Error>)
        case wait
    }

    private let state = Mutex(State())

    // MARK: The requesting task

    /// Registers the continuation that waits for the head; call it before the transfer starts.
    func expectHead(_ waiter: CheckedContinuation<RawHead, any Error>) {
        state.withLock { $0.headWaiter = waiter }
    }

    /// The next part of the body; nil at its end.
    ///
    /// - Parameter unpause: Called when enough has been read for receiving to continue.
    /// - Returns: At least one byte, or nil.
    /// - Throws: The transfer's failure.
    func next(unpause: () -> Void) async throws -> [UInt8]? {
        switch state.withLock({ Self.read(&$0) }) {
        case .part(let part, let mayGoOn):
            if mayGoOn { unpause() }
            return part
        case .end(let result):
            try result.get()
            return nil
        case .wait:
            return try await withCheckedThrowingContinuation { waiter in
                let read = state.withLock { state in
                    let read = Self.read(&state)
                    if case .wait = read {
                        // Two concurrent consumers of one body are an error of the caller; the first must not hang because of it.
                        state.bodyWaiter?.resume(throwing: CancellationError())
                        state.bodyWaiter = waiter
                    }
                    return read
                }
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

    private static func read(_ state: inout State) -> Read {
        guard let part = state.parts.popFirst() else {
            return state.end.map(Read.end) ?? .wait
        }
        state.buffered -= part.count
        let unpause = state.isPaused && state.buffered <= highWater / 2
        if unpause { state.isPaused = false }
        return .part(part, unpause: unpause)
    }

    // MARK: The driver

    /// Hands the head to the requesting task.
    ///
    /// Later calls do nothing.
    func deliver(_ head: RawHead) {
        let waiter = state.withLock { state in
            defer { state.headWaiter = nil }
            return state.headWaiter
        }
        waiter?.resume(returning: head)
    }

    /// Takes a part of the body; false when too much waits already, and receiving must pause.
    func append(_ part: UnsafeBufferPointer<UInt8>) -> Bool {
        let (accepted, waiter) = state.withLock { state -> (Bool, CheckedContinuation<[UInt8]?, any Error>?) in
            if let waiter = state.bodyWaiter {
                state.bodyWaiter = nil
                return (true, waiter)
            }
            guard state.buffered + part.count <= Self.highWater || state.parts.isEmpty else {
                state.isPaused = true
                return (false, nil)
            }
            state.parts.append([UInt8](part))
            state.buffered += part.count
            return (true, nil)
        }
        waiter?.resume(returning: [UInt8](part))
        return accepted
    }

    /// Whether nothing more will come from the network.
    var isOver: Bool { state.withLock { $0.end != nil } }

    /// Whether receiving waits for the consumer.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Ends the exchange; the first end counts.
    ///
    /// The end is set before the head is handed over, so that a small response is complete when its reader wakes.
    func finish(_ result: Result<Void, any Error>, head: RawHead? = nil, trailers: [UInt8] = []) {
        let (headWaiter, bodyWaiter) = state.withLock { state in
            if state.end == nil { (state.end, state.trailers) = (result, trailers) }
            // After a failure the unread parts are dropped: the consumer learns of the failure first.
            if case .failure = result {
                state.parts.removeAll()
                state.buffered = 0
            }
            defer { (state.headWaiter, state.bodyWaiter) = (nil, nil) }
            return (state.headWaiter, state.bodyWaiter)
        }
        bodyWaiter?.resume(with: result.map { nil })
        switch (result, head) {
        case (.success, .some(let head)): headWaiter?.resume(returning: head)
        case (.success, nil):
            headWaiter?.resume(throwing: TransportError(.connectionLost, "the connection ended within the response's head"))
        case (.failure(let error), _): headWaiter?.resume(throwing: error)
        }
    }
}
