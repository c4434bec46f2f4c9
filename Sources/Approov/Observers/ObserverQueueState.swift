/// What waits for an observer; a value without locks or tasks.
struct ObserverQueueState {
    /// The maximum number of events that wait.
    static let limit = 1_024

    /// The number of waiting events that end a pause: soon enough that none is dropped before the thread runs.
    static let enough = 256

    /// What the caller must do after it has added an event.
    enum Action {
        case none
        /// Start to deliver.
        case deliver
        /// End the pause before the next delivery.
        case hurry
    }

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
    /// Whether the delivery waits for a time, or for enough events.
    private var isPausing = false

    /// Adds an event, or drops it if too many wait.
    mutating func add(_ event: SessionEvent) -> Action {
        // An event that comes after a gap is dropped with it, so that the observer learns of the gap where it is.
        if waiting.events.count + delivering < Self.limit, waiting.dropped == 0 {
            waiting.events.append(event)
        } else {
            waiting.dropped += 1
        }
        guard isDelivering else {
            isDelivering = true
            return .deliver
        }
        guard isPausing, waiting.events.count >= Self.enough else { return .none }
        isPausing = false
        return .hurry
    }

    /// Notes that the observer has got the events that were taken last.
    ///
    /// - Returns: Whether the delivery pauses: few events wait, and none was dropped. After a gap, a pause would drop each further event.
    mutating func delivered() -> Bool {
        delivering = 0
        isPausing = waiting.events.count < Self.enough && waiting.dropped == 0
        return isPausing
    }

    /// Takes all that waits; nil if nothing does, and the delivery then ends.
    mutating func next() -> Batch? {
        isPausing = false
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

/// What a session reports to an observer; indirect, because it is large and waits in an array.
indirect enum SessionEvent: Sendable {
    case willSend(RequestSummary)
    case didReceive(ResponseSummary)
    case didFinish(CallMetrics)
    case didFail(CallFailure)
}
