import CertificatePinning
import Synchronization

/// Takes refusals of the authority's server to the trust managers whose sessions use the service.
///
/// The service makes its policy before there is a session, and may serve several.
final class AuthorityWatch: Sendable {
    private struct Listener {
        weak var recorder: ViolationRecorder?
    }

    private let listeners = Mutex<[Listener]>([])

    /// Tells a recorder from now on, for as long as something else holds it.
    func add(_ recorder: ViolationRecorder) {
        listeners.withLock { listeners in
            listeners.removeAll { $0.recorder == nil || $0.recorder === recorder }
            listeners.append(Listener(recorder: recorder))
        }
    }

    /// What the authority's rule tells of its violations; called inside handshakes.
    func observer(for noted: NotedHost) -> @Sendable (TrustViolation) -> Void {
        { [self] violation in
            let recorders = listeners.withLock { $0.compactMap(\.recorder) }
            for recorder in recorders { recorder.observer(for: noted)(violation) }
        }
    }
}
