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

    /// Sleeps on the continuous clock.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration, clock: .continuous)
    }
}
