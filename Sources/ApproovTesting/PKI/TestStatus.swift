/// The certificate status in a test's OCSP response.
public enum TestStatus: Sendable {
    /// The certificate is not revoked.
    case good
    /// The certificate was revoked an hour ago.
    case revoked
    /// The responder does not know the certificate.
    case unknown
}
