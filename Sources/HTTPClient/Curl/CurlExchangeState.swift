import DequeModule

/// The state machine of what the requesting task and the driver share; a value without locks or tasks.
///
/// Its methods change the state and return what the caller must do outside the lock.
struct CurlExchangeState<Head: Sendable, HeadWaiter: Sendable, BodyWaiter: Sendable>: Sendable {
    /// How a transfer ends.
    typealias End = Result<Void, any Error>

    /// What a reader of the body gets.
    enum Read: Sendable {
        /// A part; with `unpause`, enough has been read for receiving to continue.
        case part([UInt8], unpause: Bool)
        case end(End)
        case wait
    }

    /// What becomes of a part that arrived.
    enum Arrival: Sendable {
        /// It waits for a reader.
        case kept
        /// The caller resumes this reader with it.
        case wanted(by: BodyWaiter)
        /// Too much waits already: receiving must pause, and the part comes again.
        case refused
    }

    /// Receiving pauses when this many bytes wait to be read, and continues when half of them have been read.
    static var highWater: Int { 512 * 1024 }
    /// A part that is smaller than this takes the ones after it, up to the largest size of a part, in bytes.
    private static var smallest: Int { 1_024 }
    private static var largest: Int { 16_384 }

    /// Where the head, or the failure that came instead of it, is.
    private enum HeadState: Sendable {
        case expected
        case awaited(by: HeadWaiter)
        case arrived(Result<Head, any Error>)
        case handedOver
    }

    private var head = HeadState.expected
    private var bodyWaiter: BodyWaiter?
    /// The part to read next, which is the only one of most responses; nil when none waits.
    private var first: [UInt8]?
    /// The parts after it.
    private var parts: Deque<[UInt8]> = []
    private var buffered = 0
    /// Whether receiving waits for the reader.
    private(set) var isPaused = false
    /// How the transfer ended; nil while more may come.
    private(set) var end: End?
    /// The trailer section as received; empty before the transfer's end.
    private(set) var trailers: [UInt8] = []

    /// Takes the head, or the failure that came instead of it; nil when neither has come.
    mutating func takeHead() -> Result<Head, any Error>? {
        guard case .arrived(let result) = head else { return nil }
        head = .handedOver
        return result
    }

    /// Takes the head, or lets a task wait for it.
    ///
    /// - Parameter waiter: The task; kept when neither has come.
    /// - Returns: The head or the failure; nil when neither has come.
    mutating func takeHead(or waiter: HeadWaiter) -> Result<Head, any Error>? {
        if let result = takeHead() { return result }
        head = .awaited(by: waiter)
        return nil
    }

    /// Hands over the head, or the failure that came instead of it; only the first one counts.
    ///
    /// - Returns: The waiter to resume with it; nil when no task waits.
    mutating func deliver(_ result: Result<Head, any Error>) -> HeadWaiter? {
        switch head {
        case .expected:
            head = .arrived(result)
            return nil
        case .awaited(let waiter):
            head = .handedOver
            return waiter
        case .arrived, .handedOver: return nil
        }
    }

    /// Takes the next part of the body.
    mutating func read() -> Read {
        guard let part = first.take() else { return end.map(Read.end) ?? .wait }
        first = parts.popFirst()
        buffered -= part.count
        let unpause = isPaused && buffered <= Self.highWater / 2
        if unpause { isPaused = false }
        return .part(part, unpause: unpause)
    }

    /// Takes the next part of the body, or lets a reader wait for it.
    ///
    /// - Parameter waiter: The reader; kept when the answer is `wait`.
    /// - Returns: The answer, and a reader that waited before and must be resumed with an error: a body has one reader at a time.
    mutating func read(or waiter: BodyWaiter) -> (read: Read, displaced: BodyWaiter?) {
        let read = read()
        guard case .wait = read else { return (read, nil) }
        defer { bodyWaiter = waiter }
        return (.wait, bodyWaiter)
    }

    /// Takes a part that arrived.
    mutating func append(_ part: UnsafeBufferPointer<UInt8>) -> Arrival {
        if let reader = bodyWaiter.take() { return .wanted(by: reader) }
        guard buffered + part.count <= Self.highWater || first == nil else {
            isPaused = true
            return .refused
        }
        buffered += part.count
        // A server may send single bytes, and each array adds a cost.
        if first == nil {
            first = [UInt8](part)
        } else if parts.isEmpty, takes(part, after: first) {
            first? += part
        } else if takes(part, after: parts.last) {
            parts[parts.count - 1] += part
        } else {
            parts.append([UInt8](part))
        }
        return .kept
    }

    /// Whether a part becomes a piece of the one before it.
    private func takes(_ part: UnsafeBufferPointer<UInt8>, after last: [UInt8]?) -> Bool {
        guard let last else { return false }
        return last.count < Self.smallest && last.count + part.count <= Self.largest
    }

    /// Ends the exchange; the first end counts.
    ///
    /// - Parameters:
    ///   - result: How the transfer ended.
    ///   - head: The head, or the failure that comes instead of it, for a task that has not received it.
    ///   - trailers: The trailer section as received.
    /// - Returns: The waiters to resume.
    mutating func finish(_ result: End, head: Result<Head, any Error>, trailers: [UInt8]) -> (head: HeadWaiter?, body: BodyWaiter?) {
        if end == nil { (end, self.trailers) = (result, trailers) }
        // After a failure the unread parts are dropped: the reader learns of the failure first.
        if case .failure = result {
            first = nil
            parts.removeAll()
            buffered = 0
        }
        return (deliver(head), bodyWaiter.take())
    }
}
