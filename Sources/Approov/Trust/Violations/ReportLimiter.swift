import Foundation

/// Lets an identical report through once in 24 hours, and so many different ones as it can remember.
struct ReportLimiter<Identity: Hashable> {
    /// How long a report is not repeated.
    static var interval: Duration { .seconds(86_400) }
    /// How long nothing is sent after a failure.
    static var holdTime: Duration { .seconds(60) }

    private let capacity: Int
    private var sent: [Identity: Duration] = [:]
    private var heldUntil: Duration?

    /// A limiter that remembers nothing yet.
    ///
    /// - Parameter capacity: How many reports it remembers, which are all that it lets through in 24 hours.
    init(capacity: Int = 256) {
        self.capacity = capacity
    }

    /// Whether the report is to be sent, as which it then counts.
    mutating func admits(_ identity: Identity, at now: Duration) -> Bool {
        if let heldUntil, now < heldUntil { return false }
        if let last = sent[identity], now - last < Self.interval { return false }
        if sent.count >= capacity { sent = sent.filter { now - $0.value < Self.interval } }
        // Not the oldest one forgotten: whoever makes up certificates would fill the report server with it.
        guard sent.count < capacity || sent[identity] != nil else { return false }
        sent[identity] = now
        return true
    }

    /// Takes back that the report was sent.
    mutating func forget(_ identity: Identity) {
        sent[identity] = nil
    }

    /// Sends nothing for a while.
    mutating func hold(from now: Duration) {
        heldUntil = now + Self.holdTime
    }
}
