public import Foundation
internal import Glibc

/// The system's clocks.
public struct SystemTimeSource: TimeSource {
    /// Makes the source.
    public init() {}

    /// `CLOCK_REALTIME`.
    public var date: Date { Date() }

    /// `CLOCK_BOOTTIME`, which continues while the machine is suspended.
    public var uptime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The longest sleep: a hundred years.
    ///
    /// The standard library ends the process for a sleep of more than 2^63 seconds.
    package static let longestSleep: Duration = .seconds(100 * 365 * 86_400)

    /// Sleeps on the continuous clock, for a hundred years at most.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: min(duration, Self.longestSleep), clock: .continuous)
    }
}
