/// What waits for an observer; a value without locks or tasks.
struct ObserverQueueState {
    /// The maximum number of events that wait.
    static let limit = 1_024

    /// What an observer gets next.
    struct Batch {
        var events: [SessionEvent] = []
        /// The number of events that were dropped after these.
        var dropped = 0
    }

    private var waiting = Batch()
    /// The number of events that were taken last; they still wait, because the observer may be slow.
    private var delivering = 0
    private var isDelivering = false

    /// Adds an event, or drops it if too many wait.
    ///
    /// - Returns: Whether the caller must start to deliver.
    mutating func add(_ event: SessionEvent) -> Bool {
        // An event that comes after a gap is dropped with it, so that the observer learns of the gap where it is.
        if waiting.events.count + delivering < Self.limit, waiting.dropped == 0 {
            waiting.events.append(event)
        } else {
            waiting.dropped += 1
        }
        defer { isDelivering = true }
        return !isDelivering
    }

    /// Notes that the observer has got the events that were taken last.
    mutating func delivered() { delivering = 0 }

    /// Takes all that waits; nil if nothing does, and the delivery then ends.
    mutating func next() -> Batch? {
        guard !waiting.events.isEmpty || waiting.dropped > 0 else {
            isDelivering = false
            delivering = 0
            return nil
        }
        delivering = waiting.events.count
        defer { waiting = Batch() }
        return waiting
    }
}

/// What a session reports to an observer.
enum SessionEvent: Sendable {
    case willSend(RequestSummary)
    case didReceive(ResponseSummary)
    case didFinish(CallMetrics)
    case didFail(CallFailure)
}
