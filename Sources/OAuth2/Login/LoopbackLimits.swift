internal import Glibc

/// Bounds of a listener for redirects.
struct LoopbackLimits: Sendable {
    /// The most bytes of a request's head.
    var maximumRequestBytes = 8_192
    /// How long one connection may take.
    var connectionTimeout: Duration = .seconds(5)
    /// The most connections at a time; further ones wait in the system's queue.
    var maximumConnections = 16
    /// The pause before the next `accept` after the system refused one, for example because the process has too many open files.
    var acceptPause: Duration = .milliseconds(100)
    /// Accepts a connection of the listening socket; returns a descriptor, or -1 and sets `errno`.
    var accept: @Sendable (Int32) -> Int32 = { Glibc.accept($0, nil, nil) }
}
