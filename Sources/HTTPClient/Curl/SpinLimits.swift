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
