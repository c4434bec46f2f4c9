internal import ApproovBase
internal import Synchronization

/// The hosts that were already reported in the log; copies of an evaluator share one.
final class AnnouncedHosts: Sendable {
    private let throttle = Mutex(Throttle<String>(interval: nil, capacity: 256))

    /// Whether to log a message about the host: true once per host, for at most 256 hosts.
    func isNew(_ host: String) -> Bool {
        throttle.withLock { $0.admits(host, at: .zero) }
    }
}
