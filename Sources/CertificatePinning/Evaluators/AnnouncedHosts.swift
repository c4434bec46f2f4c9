internal import Synchronization

/// The hosts that were already reported in the log; copies of an evaluator share one.
final class AnnouncedHosts: Sendable {
    private static let limit = 256
    private let hosts = Mutex<Set<String>>([])

    /// Whether to log a message about the host: true once per host, for at most 256 hosts.
    func isNew(_ host: String) -> Bool {
        hosts.withLock { $0.count < Self.limit && $0.insert(host).inserted }
    }
}
