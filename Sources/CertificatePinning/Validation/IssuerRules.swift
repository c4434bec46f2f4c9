internal import COpenSSL
internal import Foundation

/// The conditions that OpenSSL sets for an issuer on every path; a path through an issuer that fails them need not be tried.
///
/// Only cheap conditions are checked, because no signature of the issuer is verified yet. OpenSSL still verifies every path that passes.
struct IssuerRules {
    /// The time for which the path is validated.
    let time: time_t

    /// Whether a path through the issuer can be valid.
    func admit(_ issuer: Certificate, isAnchor: Bool) -> Bool {
        let x509 = issuer.x509
        var time = time
        // X509_cmp_time returns zero for a date that does not parse.
        guard X509_cmp_time(X509_get0_notBefore(x509), &time) < 0, X509_cmp_time(X509_get0_notAfter(x509), &time) > 0,
            X509_get_extension_flags(x509) & UInt32(EXFLAG_INVALID | EXFLAG_CRITICAL) == 0
        else { return false }
        // Without basic constraints, only a root may be an issuer (OpenSSL returns 3 to 5 for such certificates).
        let authority = X509_check_ca(x509)
        guard isAnchor ? authority != 0 : authority == 1, X509_check_purpose(x509, X509_PURPOSE_SSL_SERVER, 1) > 0,
            EVP_PKEY_get_security_bits(X509_get0_pubkey(x509)) >= SecurityLevel.minimumBits
        else { return false }
        return isAnchor || hasStrongSignature(x509)
    }

    private func hasStrongSignature(_ x509: OpaquePointer) -> Bool {
        var bits: Int32 = 0
        return X509_get_signature_info(x509, nil, nil, &bits, nil) == 1 && bits >= SecurityLevel.minimumBits
    }
}
