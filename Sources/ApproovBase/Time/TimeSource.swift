public import Foundation

/// The source of the time, which a test can replace.
public protocol TimeSource: Sendable {
    /// The calendar time; it may jump.
    var date: Date { get }

    /// The time since some fixed moment; it never goes back, and counts while the machine sleeps.
    var uptime: Duration { get }

    /// Returns after `duration`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(for duration: Duration) async throws
}
