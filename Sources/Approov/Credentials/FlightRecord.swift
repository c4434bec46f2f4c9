import CertificatePinning
import Foundation
import HTTPClient
import Synchronization

/// What a session has in its list of a request in flight.
///
/// The list holds this record and not the flight: a weak reference to the flight would make Swift count all its references more slowly.
final class FlightRecord: Sendable {
    /// The user whose request it is; see ``CredentialHolder/generation``.
    let generation: Int
    private let wiped: Atomic<Bool>
    private let state: Mutex<State>

    private struct State {
        /// The URL that the caller asked for.
        let url: URL?
        /// The URL that the request goes to now.
        var current: TransportURL?
        /// The URLs that it went to before.
        var earlier: [TransportURL] = []
        /// Cancels the work that is running.
        var cancelWork: (@Sendable () -> Void)?
    }

    init(generation: Int, url: URL?, isWiped: Bool) {
        self.generation = generation
        wiped = Atomic(isWiped)
        state = Mutex(State(url: url))
    }

    /// Whether the request was wiped.
    var isWiped: Bool { wiped.load(ordering: .acquiring) }

    /// Notes that the request goes to a URL.
    func visit(_ url: TransportURL) {
        state.withLock { state in
            guard state.current?.text != url.text else { return }
            if let earlier = state.current, !state.earlier.contains(earlier) { state.earlier.append(earlier) }
            state.current = url
        }
    }

    /// Whether a scope contains a URL that the request went to, or is about to go to.
    func isWithin(_ scope: WipeScope) -> Bool {
        guard !scope.isAll else { return true }
        let (url, current, earlier) = state.withLock { ($0.url, $0.current, $0.earlier) }
        let asked = url.flatMap { try? TransportURL($0) }
        return (earlier + [current, asked].compactMap(\.self)).contains(where: scope.contains)
    }

    /// Marks the request as wiped; ``cancel()`` must follow, without a lock.
    func mark() { wiped.store(true, ordering: .releasing) }

    /// Cancels the work that is running.
    func cancel() { cancelWork?() }

    /// What cancels the work that is running; nil if none is.
    var cancelWork: (@Sendable () -> Void)? {
        get { state.withLock { $0.cancelWork } }
        set {
            // What the old closure holds ends after the lock is released, because it may lead back here.
            var old: (@Sendable () -> Void)?
            state.withLock { (old, $0.cancelWork) = ($0.cancelWork, newValue) }
            withExtendedLifetime(old) {}
        }
    }
}
