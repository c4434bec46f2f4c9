public import ApproovBase

extension TrustRefusal {
    /// The kind of a refusal: stable, comparable, and open to additions.
    public struct Reason: ErrorCode {
        /// The name of the reason, as it appears in logs.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server sent no certificate.
        public static let noCertificate = Reason("noCertificate")
        /// A certificate of the path has expired.
        public static let expired = Reason("expired")
        /// A certificate of the path is not yet valid.
        public static let notYetValid = Reason("notYetValid")
        /// The certificate is for other hosts.
        public static let hostMismatch = Reason("hostMismatch")
        /// The certificate names hosts only in its common name, which does not count (RFC 9525, section 2).
        public static let noSubjectAlternativeName = Reason("noSubjectAlternativeName")
        /// A certificate of the path is not for TLS servers.
        public static let wrongPurpose = Reason("wrongPurpose")
        /// The server's certificate is marked as a certification authority's.
        public static let leafIsCA = Reason("leafIsCA")
        /// The certificate of an issuer is not a certification authority's.
        public static let notACA = Reason("notACA")
        /// The certificate of an issuer is not for signing certificates.
        public static let wrongKeyUsage = Reason("wrongKeyUsage")
        /// An issuer's path length constraint is exceeded.
        public static let pathLengthExceeded = Reason("pathLengthExceeded")
        /// The path has too many certificates.
        public static let pathTooLong = Reason("pathTooLong")
        /// A name is outside an issuer's name constraints.
        public static let nameConstraint = Reason("nameConstraint")
        /// The path ends in a root that is not trusted.
        public static let untrustedRoot = Reason("untrustedRoot")
        /// No issuer was found for a certificate: neither sent by the server nor among the trusted roots.
        public static let incompletePath = Reason("incompletePath")
        /// The server's certificate is self-signed and not trusted.
        public static let selfSigned = Reason("selfSigned")
        /// A signature of the path is wrong.
        public static let signatureFailure = Reason("signatureFailure")
        /// A key of the path is too weak.
        public static let weakKey = Reason("weakKey")
        /// A signature algorithm of the path is too weak.
        public static let weakSignature = Reason("weakSignature")
        /// A certificate of the path is revoked.
        public static let revoked = Reason("revoked")
        /// The revocation status of a certificate of the path cannot be determined.
        public static let revocationUnknown = Reason("revocationUnknown")
        /// A certificate of the path is malformed, or has a critical extension that OpenSSL does not know.
        public static let malformedCertificate = Reason("malformedCertificate")
        /// No key of the validated path is pinned.
        public static let pinMismatch = Reason("pinMismatch")
        /// The policy requires a rule for every host, and this host has none.
        public static let hostNotEvaluated = Reason("hostNotEvaluated")
        /// An evaluator needs look-ups that were not made.
        public static let lookupsUnavailable = Reason("lookupsUnavailable")
        /// An evaluator could not judge.
        public static let evaluatorFailed = Reason("evaluatorFailed")
        /// None of the other reasons; see the refusal's detail.
        public static let other = Reason("other")
    }
}
