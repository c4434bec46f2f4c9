import Approov
import CertificatePinning

func trustManager(payments: Set<Pin>) throws -> ApproovTrustManager {
    ApproovTrustManager(
        allHostsMustBeEvaluated: true,
        evaluators: [
            "payments.example.com": try PublicKeysTrustEvaluator(pins: payments),  // path validation, then one of these keys
            "*.example.org": DefaultTrustEvaluator(),  // path validation alone, one label below example.org
            "lab.example.net": DisabledTrustEvaluator(),  // nothing is checked; has no effect on a protected host
        ])
}
