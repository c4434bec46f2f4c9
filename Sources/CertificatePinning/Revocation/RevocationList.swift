internal import COpenSSL
internal import Foundation

/// A parsed certificate revocation list (RFC 5280, section 5).
///
/// Parsing is by far the slowest step for a large list. It happens where the list was looked up, never in a handshake.
final class RevocationList: Sendable {
    // X509_CRL is reference counted and only read after init, which also makes OpenSSL sort the entries.
    nonisolated(unsafe) private let list: OpaquePointer

    /// Parses DER.
    ///
    /// - Parameter bytes: The list, and nothing after it.
    /// - Throws: ``RevocationProblem`` when the bytes do not parse, or when more bytes follow the list.
    init(der bytes: [UInt8]) throws {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        let parsed = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let list = d2i_X509_CRL(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                X509_CRL_free(list)
                return nil
            }
            return list
        }
        guard let parsed else { throw RevocationProblem("it cannot be parsed") }
        list = parsed
        // OpenSSL sorts all entries at the first search by serial number.
        guard let number = ASN1_INTEGER_new() else { return }
        defer { ASN1_INTEGER_free(number) }
        var entry: OpaquePointer?
        X509_CRL_get0_by_serial(list, &entry, number)
    }

    deinit { X509_CRL_free(list) }

    /// Reads the status of a certificate from the list.
    ///
    /// OpenSSL checks that the list is signed by the certificate's issuer and covers certificates of its kind (RFC 5280, section 6.3.3).
    /// Lists of another issuer, delta lists and lists limited to some revocation reasons do not count.
    /// - Parameters:
    ///   - issued: The certificate and its issuer.
    ///   - time: The time at which the list must be valid.
    /// - Returns: The status, good or revoked.
    /// - Throws: ``RevocationProblem`` when the list gives no valid status.
    func status(of issued: IssuedCertificate, at time: Date) throws -> RevocationStatus {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        // OpenSSL takes a delta list for a complete one, unless it may also accept indirect lists and lists of some reasons.
        guard X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) < 0 else {
            throw RevocationProblem("it is a delta list, which has only the changes to another list (RFC 5280, section 5.2.4)")
        }
        let nextUpdate = X509_CRL_get0_nextUpdate(list)
        let end = try RevocationRules.validUntil(
            thisUpdate: OpenSSLText.date(X509_CRL_get0_lastUpdate(list)), nextUpdate: OpenSSLText.date(nextUpdate),
            hasEnd: nextUpdate != nil, at: time)
        var algorithm: UnsafePointer<X509_ALGOR>?
        X509_CRL_get0_signature(list, nil, &algorithm)
        try RevocationRules.requireStrongDigest(algorithm)
        return try RevocationRules.withStore(trusting: issued.issuer, at: time) { store in
            RevocationStatus(value: try check(issued, store), validUntil: end)
        }
    }

    private func check(_ issued: IssuedCertificate, _ store: OpaquePointer) throws -> RevocationStatus.Value {
        guard let context = X509_STORE_CTX_new(), let lists = COpenSSL_crls_new() else {
            throw RevocationProblem("OpenSSL is out of memory")
        }
        defer {
            X509_STORE_CTX_free(context)
            COpenSSL_crls_free(lists)
        }
        guard X509_STORE_CTX_init(context, store, issued.certificate.x509, nil) == 1, COpenSSL_crls_append(lists, list) > 0 else {
            throw RevocationProblem("OpenSSL is out of memory")
        }
        X509_STORE_CTX_set0_crls(context, lists)
        X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_NO_CHECK_TIME))
        // The list's dates are checked above, as those of OCSP responses are, and the path's were when it was validated. OpenSSL would
        // allow no difference between the clocks.
        X509_VERIFY_PARAM_clear_flags(X509_STORE_CTX_get0_param(context), UInt(X509_V_FLAG_USE_CHECK_TIME))
        guard X509_verify_cert(context) != 1 else { return .good }
        let code = X509_STORE_CTX_get_error(context)
        guard code == X509_V_ERR_CERT_REVOKED else {
            throw RevocationProblem(X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "OpenSSL's error \(code)")
        }
        var entry: OpaquePointer?
        guard X509_CRL_get0_by_cert(list, &entry, issued.certificate.x509) == 1, let entry else { return .revoked(nil) }
        return .revoked(OpenSSLText.date(X509_REVOKED_get0_revocationDate(entry)))
    }
}
