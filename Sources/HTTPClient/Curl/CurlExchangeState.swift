import DequeModule

/// The state machine of what the requesting task and the driver share; a value without locks or tasks.
///
/// Its methods change the state and return what the caller must do outside the lock.
struct CurlExchangeState<HeadWaiter: Sendable, BodyWaiter: Sendable>: Sendable {
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

    private var headWaiter: HeadWaiter?
    private var bodyWaiter: BodyWaiter?
    private var parts: Deque<[UInt8]> = []
    private var buffered = 0
    /// Whether receiving waits for the reader.
    private(set) var isPaused = false
    /// How the transfer ended; nil while more may come.
    private(set) var end: End?
    /// The trailer section as received; empty before the transfer's end.
    private(set) var trailers: [UInt8] = []

    mutating func expectHead(_ waiter: HeadWaiter) { headWaiter = waiter }

    /// Takes out the waiter for the head.
    mutating func takeHeadWaiter() -> HeadWaiter? { headWaiter.take() }

    /// Takes the next part of the body.
    mutating func read() -> Read {
        guard let part = parts.popFirst() else { return end.map(Read.end) ?? .wait }
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
        guard buffered + part.count <= Self.highWater || parts.isEmpty else {
            isPaused = true
            return .refused
        }
        parts.append([UInt8](part))
        buffered += part.count
        return .kept
    }

    /// Ends the exchange; the first end counts.
    ///
    /// - Parameters:
    ///   - result: How the transfer ended.
    ///   - trailers: The trailer section as received.
    /// - Returns: The waiters to resume.
    mutating func finish(_ result: End, trailers: [UInt8]) -> (head: HeadWaiter?, body: BodyWaiter?) {
        if end == nil { (end, self.trailers) = (result, trailers) }
        // After a failure the unread parts are dropped: the reader learns of the failure first.
        if case .failure = result {
            parts.removeAll()
            buffered = 0
        }
        return (headWaiter.take(), bodyWaiter.take())
    }
}
