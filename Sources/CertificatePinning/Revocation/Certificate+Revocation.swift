internal import COpenSSL

/// Reads where a certificate's revocation status can be looked up.
extension Certificate {
    /// The largest number of URLs read of one list in a certificate, and the length limit of each in bytes.
    private static let maximumURLs: Int32 = 8
    private static let maximumLength = 1_024

    /// Whether the certificate names any revocation source, used or not.
    var namesRevocationSource: Bool {
        if X509_get_ext_by_NID(x509, NID_crl_distribution_points, -1) >= 0 { return true }
        guard X509_get_ext_by_NID(x509, NID_info_access, -1) >= 0 else { return false }
        // An extension that does not parse or occurs twice may name a source.
        guard let extensionValue = X509_get_ext_d2i(x509, NID_info_access, nil, nil) else { return true }
        let accesses = OpaquePointer(extensionValue)
        defer { AUTHORITY_INFO_ACCESS_free(accesses) }
        return (0..<max(0, COpenSSL_accesses_count(accesses))).contains { COpenSSL_accesses_method(accesses, $0) == NID_ad_OCSP }
    }

    /// The http URLs of OCSP responders (RFC 5280, section 4.2.2.1).
    var ocspURLs: [String] {
        guard let texts = X509_get1_ocsp(x509) else { return [] }
        defer { X509_email_free(texts) }
        return (0..<min(Self.maximumURLs, max(0, COpenSSL_texts_count(texts)))).compactMap { index in
            COpenSSL_texts_value(texts, index).flatMap { Self.httpURL(String(cString: $0)) }
        }
    }

    /// The http URLs of CRLs that cover all revocation reasons and come from the certificate's own issuer (RFC 5280, section 4.2.1.13).
    var crlURLs: [String] {
        guard let extensionValue = X509_get_ext_d2i(x509, NID_crl_distribution_points, nil, nil) else { return [] }
        let points = OpaquePointer(extensionValue)
        defer { CRL_DIST_POINTS_free(points) }
        var urls: [String] = []
        for index in 0..<min(Self.maximumURLs, max(0, COpenSSL_points_count(points))) {
            guard let point = COpenSSL_points_value(points, index), COpenSSL_point_is_plain(point) == 1 else { continue }
            let names = COpenSSL_point_names(point)
            for name in 0..<min(Self.maximumURLs, max(0, COpenSSL_names_count(names))) {
                guard let uri = COpenSSL_names_uri(names, name), let bytes = ASN1_STRING_get0_data(uri) else { continue }
                let text = String(decoding: UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(uri))), as: UTF8.self)
                if let url = Self.httpURL(text) { urls.append(url) }
            }
        }
        return urls
    }

    private static func httpURL(_ text: String) -> String? {
        text.utf8.count <= maximumLength && text.lowercased().hasPrefix("http://") ? text : nil
    }
}
