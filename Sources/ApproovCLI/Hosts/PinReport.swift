import CertificatePinning

/// The report that `approov pin --json` prints.
struct PinReport: Encodable {
    struct Entry: Encodable {
        let subject: String
        let pin: String
    }

    let host: String
    let trusted: Bool
    let refusal: String?
    let certificates: [Entry]

    init(host: String, trusted: Bool, refusal: String?, certificates: [Entry]) {
        self.host = host
        self.trusted = trusted
        self.refusal = refusal
        self.certificates = certificates
    }

    init(host: String, _ presented: PresentedChain) {
        self.init(
            host: host, trusted: presented.refusal == nil, refusal: presented.refusal.map { "\($0.reason): \($0.detail)" },
            certificates: presented.certificates.map { Entry(subject: $0.subject, pin: $0.pin.description) })
    }

    init(refusal: TrustRefusal) {
        self.init(
            host: refusal.host, trusted: false, refusal: "\(refusal.reason): \(refusal.detail)",
            certificates: refusal.presented.map { Entry(subject: $0.subject, pin: $0.pin.description) })
    }
}
