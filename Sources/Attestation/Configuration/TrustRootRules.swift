import ApproovBase

/// The rule for the trust roots in a configuration.
///
/// The module CertificatePinning parses them.
enum TrustRootRules {
    /// Refuses a text that is not PEM certificates, or that holds a private key.
    static func check(_ text: String, member: String) throws(AttestationError) {
        guard PEMText.hasCertificate(text), !PEMText.hasPrivateKey(text) else {
            throw AttestationError(.malformedMember, "must be one or more PEM certificates and nothing else", member: member)
        }
    }
}
