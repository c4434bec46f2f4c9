import Synchronization

/// The time at which the authority last told this app the configuration.
final class LastHeard: Sendable {
    private let at = Mutex<Duration?>(nil)

    func note(_ now: Duration) { at.withLock { $0 = now } }

    func isWithin(_ age: Duration, of now: Duration) -> Bool { at.withLock { $0.map { now - $0 < age } ?? false } }
}
