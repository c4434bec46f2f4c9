internal import COpenSSL

/// The name constraints of an issuer (RFC 5280, section 4.2.1.10), as OpenSSL judges them.
enum NameConstraints {
    /// Whether the certificate has any.
    static func exist(in issuer: Certificate) -> Bool { X509_get_ext_by_NID(issuer.x509, NID_name_constraints, -1) >= 0 }

    /// What OpenSSL says of the names of a certificate below the issuer: X509_V_OK, or an error.
    static func judge(_ subject: Certificate, below issuer: Certificate) -> Int32 {
        guard exist(in: issuer) else { return X509_V_OK }
        // A constraint that does not parse, or is there twice, must not count for none.
        guard let decoded = X509_get_ext_d2i(issuer.x509, NID_name_constraints, nil, nil) else {
            return X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX
        }
        let constraints = decoded.assumingMemoryBound(to: NAME_CONSTRAINTS.self)
        defer { NAME_CONSTRAINTS_free(constraints) }
        // OpenSSL reads the names where it keeps them since the extensions were decoded.
        guard X509_check_purpose(subject.x509, -1, 0) == 1 else { return X509_V_ERR_INVALID_EXTENSION }
        return NAME_CONSTRAINTS_check(subject.x509, constraints)
    }

    /// The server's certificate as if it were for the requested host alone; nil for an address, which no wildcard stands for.
    ///
    /// OpenSSL judges the names that a certificate has. A wildcard among them may be outside an excluded name, although it stands for
    /// that name too (CVE-2025-61727).
    /// - Throws: ``PinningError`` when OpenSSL has no memory for it: the host must not count as permitted then.
    static func copy(of server: OpaquePointer, for host: CanonicalHost) throws -> Certificate? {
        guard host.kind == .name else { return nil }
        let count = Int32(host.name.utf8.count)
        guard let copy = host.name.withCString({ COpenSSL_copy_for_host(server, $0, count) }) else {
            throw PinningError(.malformedCertificate, "OpenSSL made no copy of the server's certificate: out of memory")
        }
        return try Certificate(owning: copy)
    }
}
