import CertificatePinning
import Foundation
import Synchronization

/// Trusts every server, and records the certificate that it presents.
final class CertificateRecorder: ServerTrustEvaluating {
    private let state = Mutex<Certificate?>(nil)

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        state.withLock { $0 = trust.chain.first }
        return .trusted
    }

    var pins: [String] { state.withLock { $0.map { [$0.pin.description] } ?? [] } }
    var notAfter: Date? { state.withLock { $0?.notAfter } }
}
