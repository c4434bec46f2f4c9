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

    /// Whether the next wait will probably be clearly shorter than a spin may last.
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
