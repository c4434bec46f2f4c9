/// Decides whether a thread that waits for something short looks for it again and again before it sleeps.
///
/// Sleep and wake-up go through the kernel. On a virtual machine they take tens of microseconds, as long as a server nearby takes to answer.
/// A spin costs the processor what it lasts, so it is only worthwhile while waits are short: at most half as long as a spin may last, on
/// average. If they were about as long, many spins would end at the limit, and the thread would then sleep all the same.
struct AdaptiveSpin {
    /// How long a spin may last, in nanoseconds; 0: no spin at all.
    let limit: UInt64
    /// The mean of the waits so far, in nanoseconds; the last ones weigh most.
    private var mean: UInt64

    /// Begins without spins: about thirty short waits make them worthwhile.
    init(limit: UInt64) {
        self.limit = limit
        mean = limit * Self.longest
    }

    /// Makes the next waits sleeps, because other work needs the processor; about thirty short waits begin the spins again.
    mutating func rest() { mean = limit * Self.longest }

    /// A longer wait than this many limits counts as this many, so that one of them ends the spins, and thirty short ones begin them again.
    private static let longest: UInt64 = 8

    /// Whether the next wait will probably be clearly shorter than a spin may last.
    var isWorthwhile: Bool { limit > 0 && mean <= limit / 2 }

    /// Notes how long a wait was, in nanoseconds, with or without a spin.
    mutating func note(_ wait: UInt64) {
        mean = (mean * 7 + min(wait, limit * Self.longest)) / 8
    }
}
