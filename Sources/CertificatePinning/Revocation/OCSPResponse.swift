internal import COpenSSL
internal import Foundation

/// OCSP (RFC 6960): makes the request for one certificate, and reads its status from a response.
enum OCSPResponse {
    /// The largest number of answers accepted in one response.
    private static let maximumAnswers: Int32 = 64

    /// The DER of a status request for one certificate, identified by SHA-1, which every responder supports (RFC 5019, section 2.1.1).
    static func request(for issued: IssuedCertificate) -> [UInt8]? {
        guard let request = OCSP_REQUEST_new() else { return nil }
        defer { OCSP_REQUEST_free(request) }
        guard let id = OCSP_cert_to_id(EVP_sha1(), issued.certificate.x509, issued.issuer.x509) else { return nil }
        guard OCSP_request_add0_id(request, id) != nil else {
            OCSP_CERTID_free(id)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_OCSP_REQUEST(request, &bytes)
        defer { COpenSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Reads the status of a certificate from a response.
    ///
    /// The response must be signed by the certificate's issuer, or by a responder that the issuer itself certified for OCSP (RFC 6960,
    /// section 4.2.2.2); locally configured responders do not count. The request has no nonce: the dates show whether the response is
    /// fresh.
    /// - Parameters:
    ///   - bytes: The DER of the response.
    ///   - issued: The certificate and its issuer.
    ///   - time: The time at which the response must be valid.
    /// - Returns: The status, good or revoked.
    /// - Throws: ``RevocationProblem`` when the response gives no valid status.
    static func status(_ bytes: [UInt8], of issued: IssuedCertificate, at time: Date) throws -> RevocationStatus {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        let response = try parse(bytes)
        defer { OCSP_RESPONSE_free(response) }
        let code = OCSP_response_status(response)
        guard code == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            throw RevocationProblem("the responder answered with an error (\(String(cString: OCSP_response_status_str(Int(code)))))")
        }
        guard let basic = OCSP_response_get1_basic(response) else { throw RevocationProblem("its type is unknown") }
        defer { OCSP_BASICRESP_free(basic) }
        try verify(basic, issued, at: time)
        return try answer(in: basic, issued, at: time)
    }

    private static func parse(_ bytes: [UInt8]) throws -> OpaquePointer {
        let parsed = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let response = d2i_OCSP_RESPONSE(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                OCSP_RESPONSE_free(response)
                return nil
            }
            return response
        }
        guard let parsed else { throw RevocationProblem("it cannot be parsed") }
        return parsed
    }

    private static func verify(_ basic: OpaquePointer, _ issued: IssuedCertificate, at time: Date) throws {
        try RevocationRules.requireStrongDigest(OCSP_resp_get0_tbs_sigalg(basic))
        let issuers = COpenSSL_chain_new()
        defer { COpenSSL_chain_free(issuers) }
        guard COpenSSL_chain_append(issuers, issued.issuer.x509) == 1 else { throw RevocationProblem("OpenSSL is out of memory") }
        try RevocationRules.withStore(trusting: issued.issuer, at: time) { store in
            guard OCSP_basic_verify(basic, issuers, store, UInt(OCSP_PARTIAL_CHAIN | OCSP_NOEXPLICIT)) == 1 else {
                throw RevocationProblem(
                    "neither the certificate's issuer nor a responder that it authorised signed it (\(OpenSSLText.peekError()))")
            }
        }
    }

    private static func answer(in basic: OpaquePointer, _ issued: IssuedCertificate, at time: Date) throws -> RevocationStatus {
        let count = OCSP_resp_count(basic)
        guard count <= maximumAnswers else { throw RevocationProblem("it has \(count) answers; at most \(maximumAnswers) are accepted") }
        for index in 0..<max(0, count) {
            guard let single = OCSP_resp_get0(basic, index), isAbout(issued, OCSP_SINGLERESP_get0_id(single)) else { continue }
            return try status(single, at: time)
        }
        throw RevocationProblem("it is about another certificate")
    }

    /// Whether an answer is about the certificate; the responder chooses the digest of the identifier.
    private static func isAbout(_ issued: IssuedCertificate, _ id: OpaquePointer?) -> Bool {
        guard let id else { return false }
        var algorithm: OpaquePointer?
        // The function only reads the id, although its signature does not say so.
        guard OCSP_id_get0_info(nil, &algorithm, nil, nil, id) == 1 else { return false }
        let digest: OpaquePointer? =
            switch OBJ_obj2nid(algorithm) {
            case NID_sha1: EVP_sha1()
            case NID_sha256: EVP_sha256()
            case NID_sha384: EVP_sha384()
            case NID_sha512: EVP_sha512()
            default: nil
            }
        guard let digest, let own = OCSP_cert_to_id(digest, issued.certificate.x509, issued.issuer.x509) else { return false }
        defer { OCSP_CERTID_free(own) }
        return OCSP_id_cmp(own, id) == 0
    }

    private static func status(_ single: OpaquePointer, at time: Date) throws -> RevocationStatus {
        var reason: Int32 = 0
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let code = OCSP_single_get0_status(single, &reason, &revoked, &thisUpdate, &nextUpdate)
        let end = try RevocationRules.validUntil(
            thisUpdate: OpenSSLText.date(thisUpdate), nextUpdate: OpenSSLText.date(nextUpdate), hasEnd: nextUpdate != nil, at: time)
        switch code {
        case V_OCSP_CERTSTATUS_GOOD: return RevocationStatus(value: .good, validUntil: end)
        case V_OCSP_CERTSTATUS_REVOKED: return RevocationStatus(value: .revoked(OpenSSLText.date(revoked)), validUntil: end)
        default: throw RevocationProblem("the responder does not know the certificate")
        }
    }
}
