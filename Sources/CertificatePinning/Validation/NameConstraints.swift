internal import COpenSSL

/// Checks the name constraints of an issuer (RFC 5280, section 4.2.1.10) as OpenSSL does.
enum NameConstraints {
    /// Whether the certificate has name constraints.
    static func exist(in issuer: Certificate) -> Bool { X509_get_ext_by_NID(issuer.x509, NID_name_constraints, -1) >= 0 }

    /// OpenSSL's verdict on the names of a certificate below the issuer: X509_V_OK or an error.
    static func judge(_ subject: Certificate, below issuer: Certificate) -> Int32 {
        guard exist(in: issuer) else { return X509_V_OK }
        // Constraints that do not parse or occur twice must not be ignored.
        guard let decoded = X509_get_ext_d2i(issuer.x509, NID_name_constraints, nil, nil) else {
            return X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX
        }
        let constraints = decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
        defer { NAME_CONSTRAINTS_free(constraints) }
        // This call makes OpenSSL decode the extensions: the check reads the decoded names.
        guard X509_check_purpose(subject.x509, -1, 0) == 1 else { return X509_V_ERR_INVALID_EXTENSION }
        return NAME_CONSTRAINTS_check(subject.x509, constraints)
    }

    /// Copies the server's certificate, with the requested host as its only name; nil for an address, which no wildcard covers.
    ///
    /// OpenSSL checks the names in the certificate. A wildcard name can lie outside an excluded subtree and still cover a host inside it
    /// (CVE-2025-61727).
    /// - Parameters:
    ///   - server: The server's certificate.
    ///   - host: The requested host.
    /// - Returns: The copy, or nil for an address.
    /// - Throws: ``PinningError`` with code `malformedCertificate` when OpenSSL cannot make the copy; the host must not count as permitted
    ///   then.
    static func copy(of server: OpaquePointer, for host: CanonicalHost) throws -> Certificate? {
        guard host.kind == .name else { return nil }
        let count = Int32(host.name.utf8.count)
        guard let copy = host.name.withCString({ COpenSSL_copy_for_host(server, $0, count) }) else {
            throw PinningError(.malformedCertificate, "OpenSSL is out of memory")
        }
        return try Certificate(owning: copy)
    }
}
