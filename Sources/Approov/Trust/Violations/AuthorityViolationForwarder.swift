import CertificatePinning
import Synchronization

/// Passes trust refusals of the authority's server to the trust managers of the service's sessions.
///
/// The service compiles the authority's policy before any session exists, and may serve several sessions.
final class AuthorityViolationForwarder: Sendable {
    private struct Listener {
        weak var recorder: ViolationRecorder?
    }

    private let listeners = Mutex<[Listener]>([])

    /// Adds a recorder; holds it weakly.
    func add(_ recorder: ViolationRecorder) {
        listeners.withLock { listeners in
            listeners.removeAll { $0.recorder == nil || $0.recorder === recorder }
            listeners.append(Listener(recorder: recorder))
        }
    }

    /// Returns the observer for the authority's trust rule; called during handshakes.
    func observer(for noted: PinViolation.ObservedHost) -> @Sendable (TrustViolation) -> Void {
        { [self] violation in
            let recorders = listeners.withLock { $0.compactMap(\.recorder) }
            for recorder in recorders { recorder.observer(for: noted)(violation) }
        }
    }
}
