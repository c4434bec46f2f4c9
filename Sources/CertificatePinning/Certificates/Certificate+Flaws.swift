internal import COpenSSL

/// Explains why OpenSSL rejects a certificate as an issuer, or finds no issuer for it.
extension Certificate {
    /// The part of the certificate that OpenSSL cannot read, for a message; nil when OpenSSL can read everything it knows.
    var malformedPart: String? {
        guard X509_get_extension_flags(x509) & UInt32(EXFLAG_INVALID) != 0 else { return nil }
        // Parse errors are expected here, so they must not stay in the error queue.
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        for index in 0..<max(0, X509_get_ext_count(x509)) {
            let value = X509_get_ext(x509, index)
            let identifier = OBJ_obj2nid(X509_EXTENSION_get_object(value))
            let name = OBJ_nid2ln(identifier).map { String(cString: $0) } ?? "\(identifier)"
            if COpenSSL_extension_parses(value) != 1 { return "the extension \"\(name)\" does not parse" }
            // RFC 5280, section 4.2 allows each extension once.
            guard identifier == NID_undef || X509_get_ext_by_NID(x509, identifier, index) < 0 else {
                return "the extension \"\(name)\" occurs twice"
            }
        }
        return "its version or its extensions contradict RFC 5280 or each other"
    }

    /// Explains why OpenSSL does not accept a certificate with the issuer's name as the issuer, for a message.
    ///
    /// - Parameter issuer: The possible issuer.
    /// - Returns: Nil when OpenSSL accepts it, or when its name is not the issuer's.
    func mismatch(withIssuer issuer: Certificate) -> String? {
        switch X509_check_issued(issuer.x509, x509) {
        case X509_V_OK, X509_V_ERR_SUBJECT_ISSUER_MISMATCH: nil
        case X509_V_ERR_AKID_SKID_MISMATCH, X509_V_ERR_AKID_ISSUER_SERIAL_MISMATCH:
            "its authority key identifier names another key or certificate"
        case X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH: "its signature algorithm does not match the issuer's key"
        case X509_V_ERR_KEYUSAGE_NO_CERTSIGN: "the issuer's key usage lacks keyCertSign"
        default: issuer.malformedPart ?? malformedPart
        }
    }

    /// Why a certificate that names itself as its issuer is not a root, for a message; nil for a root, and for a certificate that names
    /// another issuer.
    var rootFlaw: String? {
        guard !isSelfSigned else { return nil }
        return isSelfIssued || malformedPart != nil ? malformedPart ?? mismatch(withIssuer: self) : nil
    }
}
