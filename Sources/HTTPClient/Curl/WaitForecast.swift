/// Predicts from the last waits for something short whether the next one will be short.
struct WaitForecast {
    /// The longest wait that is short, in nanoseconds; 0 if no wait is.
    let limit: UInt64
    /// The mean of the waits so far, in nanoseconds; the last ones weigh most.
    private var mean: UInt64

    /// Begins with the forecast "long"; see ``longest`` for what changes it.
    init(limit: UInt64) {
        self.limit = limit
        mean = limit * Self.longest
    }

    /// Forgets the waits so far, and begins again with the forecast "long".
    mutating func reset() { mean = limit * Self.longest }

    /// A wait counts as at most `limit` × this number.
    ///
    /// One wait of that length turns the forecast to "long", and about twenty waits of at most half the limit turn it back.
    private static let longest: UInt64 = 8

    /// Whether the next wait will probably be short.
    var isShort: Bool { limit > 0 && mean <= limit }

    /// Whether the next wait will probably be at most half as long as a short one may be.
    var isVeryShort: Bool { limit > 0 && mean <= limit / 2 }

    /// Notes how long a wait was, in nanoseconds.
    mutating func note(_ wait: UInt64) {
        mean = (mean * 7 + min(wait, limit * Self.longest)) / 8
    }
}
