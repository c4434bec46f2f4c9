import CertificatePinning
import Foundation

struct ShortLivedTrustEvaluator: ServerTrustEvaluating {
    let longestLife: TimeInterval

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        guard let server = trust.chain.first else { return .refused(TrustRefusal(.noCertificate, trust: trust, detail: "no certificate")) }
        guard server.notAfter.timeIntervalSince(server.notBefore) > longestLife else { return .trusted }
        return .refused(
            TrustRefusal(.evaluatorFailed, trust: trust, detail: "the certificate lives too long: issue one with a shorter life"))
    }
}
