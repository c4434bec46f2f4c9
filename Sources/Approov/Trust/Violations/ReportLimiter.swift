import ApproovBase

/// Admits each identical report once in 24 hours, and a limited number of different ones.
struct ReportLimiter<Identity: Hashable> {
    /// The shortest time between two identical reports.
    static var interval: Duration { .seconds(86_400) }
    /// How long nothing is sent after a failure.
    static var holdTime: Duration { .seconds(60) }

    private var throttle: Throttle<Identity>
    private var heldUntil: Duration?

    /// Makes a limiter with an empty memory.
    ///
    /// - Parameter capacity: The most reports it remembers, and so the most different ones it admits in 24 hours.
    init(capacity: Int = 256) {
        throttle = Throttle(interval: Self.interval, capacity: capacity)
    }

    /// Whether nothing is sent, because a report failed.
    func isHeld(at now: Duration) -> Bool { heldUntil.map { now < $0 } ?? false }

    /// Whether the report may be sent; if so, counts it as sent.
    mutating func admits(_ identity: Identity, at now: Duration) -> Bool {
        guard !isHeld(at: now) else { return false }
        return throttle.admits(identity, at: now)
    }

    /// Undoes `admits(_:at:)` for a report that was not sent.
    mutating func forget(_ identity: Identity) {
        throttle.forget(identity)
    }

    /// Admits nothing for `holdTime`.
    mutating func hold(from now: Duration) {
        heldUntil = now + Self.holdTime
    }
}
