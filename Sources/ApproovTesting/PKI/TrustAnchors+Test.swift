package import CertificatePinning

extension TrustAnchors {
    /// The one root, or the system's when it does not parse.
    package static func of(_ root: TestCertificate) -> TrustAnchors? { try? TrustAnchors(pem: root.pem) }
}
