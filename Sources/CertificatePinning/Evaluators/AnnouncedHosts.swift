internal import Synchronization

/// Which hosts the log has been told of; shared by the copies of an evaluator.
final class AnnouncedHosts: Sendable {
    private static let limit = 256
    private let hosts = Mutex<Set<String>>([])

    /// Whether the log is to be told of the host: once, and of a bounded number of hosts.
    func isNew(_ host: String) -> Bool {
        hosts.withLock { $0.count < Self.limit && $0.insert(host).inserted }
    }
}
