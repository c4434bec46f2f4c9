import COpenSSL
public import Foundation

extension TestPKI {
    /// Mints an OCSP response (RFC 6960).
    /// - Parameters:
    ///   - certificate: The certificate that the response is about.
    ///   - status: The certificate's status.
    ///   - signer: The certificate whose key signs the response; the issuer by default.
    ///   - thisUpdate: The start of the response's validity; by default a minute ago.
    ///   - nextUpdate: The end of the response's validity; by default an hour from now; `nil` leaves it out.
    ///   - issuer: A wrong issuer to name in the response; by default the real one.
    /// - Returns: The response as DER.
    /// - Throws: When OpenSSL fails.
    public static func ocspResponse(
        for certificate: TestCertificate, status: TestStatus = .good, signedBy signer: TestCertificate? = nil,
        thisUpdate: Date = Date(timeIntervalSinceNow: -60), nextUpdate: Date? = Date(timeIntervalSinceNow: 3_600),
        issuer: TestCertificate? = nil
    ) throws -> [UInt8] {
        guard let issuer = issuer ?? certificate.issuers.first else {
            throw TestServerError("a root has no issuer that could make a revocation answer")
        }
        let signer = signer ?? issuer
        return try withX509(certificate) { subject in
            try withX509(issuer) { issuer in
                try withX509(signer) { signerX509 in
                    let basic = OCSP_BASICRESP_new()
                    defer { OCSP_BASICRESP_free(basic) }
                    let id = OCSP_cert_to_id(EVP_sha1(), subject, issuer)
                    defer { OCSP_CERTID_free(id) }
                    let code =
                        switch status {
                        case .good: V_OCSP_CERTSTATUS_GOOD
                        case .revoked: V_OCSP_CERTSTATUS_REVOKED
                        case .unknown: V_OCSP_CERTSTATUS_UNKNOWN
                        }
                    try withTimes([Date(timeIntervalSinceNow: -3_600), thisUpdate, nextUpdate]) { times in
                        let isAdded = OCSP_basic_add1_status(
                            basic, id, code, OCSP_REVOKED_STATUS_KEYCOMPROMISE, status == .revoked ? times[0] : nil, times[1], times[2])
                        guard isAdded != nil else { throw TestServerError("OpenSSL cannot add the status") }
                    }
                    try withKey(signer) { key in
                        guard OCSP_basic_sign(basic, signerX509, key, EVP_sha256(), nil, 0) == 1 else {
                            throw TestServerError("OpenSSL cannot sign the response")
                        }
                    }
                    let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
                    defer { OCSP_RESPONSE_free(response) }
                    return try encoded { i2d_OCSP_RESPONSE(response, $0) }
                }
            }
        }
    }

    /// Makes the response `tryLater` of a busy responder (RFC 6960, section 4.2.1).
    /// - Returns: The response as DER.
    /// - Throws: When OpenSSL fails.
    public static func ocspTryLater() throws -> [UInt8] {
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_TRYLATER, nil)
        defer { OCSP_RESPONSE_free(response) }
        return try encoded { i2d_OCSP_RESPONSE(response, $0) }
    }

    /// Mints a certificate revocation list (RFC 5280, section 5).
    /// - Parameters:
    ///   - issuer: The certificate authority that the list names as its issuer.
    ///   - revoked: The certificates on the list.
    ///   - signer: The certificate whose key signs the list; the issuer by default.
    ///   - thisUpdate: The start of the list's validity; by default a minute ago.
    ///   - nextUpdate: The end of the list's validity; by default an hour from now.
    ///   - base: The number of the full list that this delta list changes; by default this is a full list.
    /// - Returns: The list as DER.
    /// - Throws: When OpenSSL fails.
    public static func revocationList(
        of issuer: TestCertificate, revoking revoked: [TestCertificate] = [], signedBy signer: TestCertificate? = nil,
        thisUpdate: Date = Date(timeIntervalSinceNow: -60), nextUpdate: Date? = Date(timeIntervalSinceNow: 3_600), deltaOf base: Int? = nil
    ) throws -> [UInt8] {
        let list = X509_CRL_new()
        defer { X509_CRL_free(list) }
        X509_CRL_set_version(list, 1)
        try withX509(issuer) { _ = X509_CRL_set_issuer_name(list, X509_get_subject_name($0)) }
        withTimes([thisUpdate, nextUpdate]) { times in
            X509_CRL_set1_lastUpdate(list, times[0])
            if let end = times[1] { X509_CRL_set1_nextUpdate(list, end) }
        }
        for certificate in revoked {
            let entry = X509_REVOKED_new()
            try withX509(certificate) { _ = X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber($0)) }
            withTimes([thisUpdate]) { _ = X509_REVOKED_set_revocationDate(entry, $0[0]) }
            guard X509_CRL_add0_revoked(list, entry) == 1 else { throw TestServerError("OpenSSL cannot add the entry") }
        }
        if let base {
            let number = ASN1_INTEGER_new()
            defer { ASN1_INTEGER_free(number) }
            guard ASN1_INTEGER_set(number, base) == 1, X509_CRL_add1_ext_i2d(list, NID_delta_crl, number, 1, 0) == 1 else {
                throw TestServerError("OpenSSL cannot add the extension")
            }
        }
        X509_CRL_sort(list)
        try withKey(signer ?? issuer) { key in
            guard X509_CRL_sign(list, key, EVP_sha256()) > 0 else { throw TestServerError("OpenSSL cannot sign the list") }
        }
        return try encoded { i2d_X509_CRL(list, $0) }
    }

    private static func withX509<Value>(_ certificate: TestCertificate, _ body: (OpaquePointer) throws -> Value) throws -> Value {
        let x509 = certificate.der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_X509(nil, &cursor, buffer.count)
        }
        guard let x509 else { throw TestServerError("OpenSSL cannot read the certificate") }
        defer { X509_free(x509) }
        return try body(x509)
    }

    private static func withKey<Value>(_ certificate: TestCertificate, _ body: (OpaquePointer) throws -> Value) throws -> Value {
        let pem = Array(certificate.privateKeyPEM.utf8)
        let key = pem.withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            defer { BIO_free(bio) }
            return PEM_read_bio_PrivateKey(bio, nil, nil, nil)
        }
        guard let key else { throw TestServerError("OpenSSL cannot read the key") }
        defer { EVP_PKEY_free(key) }
        return try body(key)
    }

    private static func withTimes<Value>(
        _ dates: [Date?], _ body: ([UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?]) throws -> Value
    ) rethrows -> Value {
        let times = dates.map { $0.flatMap { ASN1_GENERALIZEDTIME_set(nil, time_t($0.timeIntervalSince1970)) } }
        defer { for time in times { ASN1_GENERALIZEDTIME_free(time) } }
        return try body(times)
    }

    private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) throws -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = encode(&bytes)
        defer { COpenSSL_free(bytes) }
        guard count > 0, let bytes else { throw TestServerError("OpenSSL cannot encode the result") }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
