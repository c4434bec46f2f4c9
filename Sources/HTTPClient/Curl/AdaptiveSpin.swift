/// Decides whether a thread that waits for something short looks for it again and again before it sleeps.
///
/// Sleep and wake-up go through the kernel. On a virtual machine they take tens of microseconds, as long as a server nearby takes to answer.
/// A spin costs the processor what it lasts, so it is only worthwhile while waits are short.
struct AdaptiveSpin {
    /// How long a spin may last, in nanoseconds; 0: no spin at all.
    let limit: UInt64
    /// The mean of the waits so far, in nanoseconds; the last ones weigh most.
    private var mean: UInt64

    /// Begins without spins: about twenty short waits make them worthwhile.
    init(limit: UInt64) {
        self.limit = limit
        mean = limit * Self.longest
    }

    /// Makes the next waits sleeps, because other work needs the processor; about twenty short waits begin the spins again.
    mutating func rest() { mean = limit * Self.longest }

    /// A longer wait than this many limits counts as this many, so that one of them ends the spins, and twenty short ones begin them again.
    private static let longest: UInt64 = 8

    /// Whether the next wait will probably be shorter than a spin may last.
    var isWorthwhile: Bool { limit > 0 && mean <= limit }

    /// Notes how long a wait was, in nanoseconds, with or without a spin.
    mutating func note(_ wait: UInt64) {
        mean = (mean * 7 + min(wait, limit * Self.longest)) / 8
    }
}

/// Decides whether the driver's thread spins.
struct DriverSpins {
    /// The waits for a server, while one request is under way.
    private var server: AdaptiveSpin
    /// The waits for a caller's next request, while none is under way.
    private var caller: AdaptiveSpin

    init(limit: UInt64) {
        server = AdaptiveSpin(limit: limit)
        caller = server
    }

    /// How long a spin may last, in nanoseconds; 0: no spin at all.
    var limit: UInt64 { server.limit }

    /// Whether the next wait will probably be shorter than a spin may last.
    ///
    /// While servers take longer, callers sleep until their responses come, and then the next request of a caller takes long, too.
    func areWorthwhile(whileIdle isIdle: Bool) -> Bool { server.isWorthwhile && (!isIdle || caller.isWorthwhile) }

    /// Notes how long a wait was, in nanoseconds, with or without a spin.
    mutating func note(_ wait: UInt64, whileIdle isIdle: Bool) {
        if isIdle { caller.note(wait) } else { server.note(wait) }
    }

    /// Makes the next waits sleeps, because several requests are under way.
    mutating func rest() {
        server.rest()
        caller.rest()
    }
}

/// How long the transport's threads may spin, in nanoseconds; 0: not at all.
struct SpinLimits: Sendable {
    /// The driver's thread, for a server's answer to the only request or for a caller's next request.
    var driver: UInt64
    /// A caller's thread, for the head of the response to the only request.
    ///
    /// A server in the same data centre answers sooner.
    var caller: UInt64

    /// The limits for this process: on one processor, a spin would only keep what it waits for from running.
    static var standard: SpinLimits {
        ProcessorShare.allowsTwoThreads() ? SpinLimits(driver: 50_000, caller: 100_000) : SpinLimits(driver: 0, caller: 0)
    }
}
