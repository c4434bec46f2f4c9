import Foundation

/// Admits each identical report once in 24 hours, and a limited number of different ones.
struct ReportLimiter<Identity: Hashable> {
    /// The shortest time between two identical reports.
    static var interval: Duration { .seconds(86_400) }
    /// How long nothing is sent after a failure.
    static var holdTime: Duration { .seconds(60) }

    private let capacity: Int
    private var sent: [Identity: Duration] = [:]
    private var heldUntil: Duration?

    /// Makes a limiter with an empty memory.
    ///
    /// - Parameter capacity: The most reports it remembers, and so the most different ones it admits in 24 hours.
    init(capacity: Int = 256) {
        self.capacity = capacity
    }

    /// Whether the report may be sent; if so, counts it as sent.
    mutating func admits(_ identity: Identity, at now: Duration) -> Bool {
        if let heldUntil, now < heldUntil { return false }
        if let last = sent[identity], now - last < Self.interval { return false }
        if sent.count >= capacity { sent = sent.filter { now - $0.value < Self.interval } }
        // Do not evict the oldest entry: a server with ever-changing certificates could then flood the report server.
        guard sent.count < capacity || sent[identity] != nil else { return false }
        sent[identity] = now
        return true
    }

    /// Undoes `admits(_:at:)` for a report that was not sent.
    mutating func forget(_ identity: Identity) {
        sent[identity] = nil
    }

    /// Admits nothing for `holdTime`.
    mutating func hold(from now: Duration) {
        heldUntil = now + Self.holdTime
    }
}
