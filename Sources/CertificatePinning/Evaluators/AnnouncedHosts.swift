internal import ApproovBase
internal import Synchronization

/// The hosts that were already reported in the log; copies of an evaluator share one.
final class AnnouncedHosts: Sendable {
    private static let maximumHosts = 256

    private let throttle = Mutex(Throttle<String>(interval: nil, capacity: AnnouncedHosts.maximumHosts))

    /// Whether to log a message about the host: true once per host, for a limited number of hosts.
    func isNew(_ host: String) -> Bool {
        throttle.withLock { $0.admits(host, at: .zero) }
    }
}
