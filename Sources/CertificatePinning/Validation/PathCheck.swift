internal import COpenSSL
internal import Foundation

/// Certification path validation (RFC 5280 §6) of what one server sent, for one host, at one time.
struct PathCheck {
    let presented: PresentedPath
    let host: CanonicalHost
    let anchors: TrustAnchors
    let time: Date
    /// Whether the server's certificate may be a certification authority's when it is an anchor itself.
    let acceptsSelfSignedServer: Bool

    /// The most certificates between leaf and root.
    ///
    /// Real paths have one to three.
    private static let maximumIntermediates: Int32 = 12
    /// The most certificates of a path.
    static let maximumLength = Int(maximumIntermediates) + 2

    /// The path from the server's certificate to a trusted root.
    func validatedPath() throws(TrustRefusal) -> [Certificate] {
        guard let leaf = presented.leaf else {
            throw TrustRefusal(.noCertificate, host: host.name, detail: "the server sent no certificate")
        }
        // What OpenSSL notes in the thread's error queue while it searches is not for the handshake around us to find.
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        guard let context = X509_STORE_CTX_new() else { throw internalError() }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_CTX_init(context, anchors.store, leaf, presented.certificates) == 1, configure(context) else {
            throw internalError()
        }
        guard X509_verify_cert(context) == 1 else {
            throw PathFailure(context, host: host).refusal(presented: presented.all())
        }
        let path = PresentedPath.array(X509_STORE_CTX_get0_chain(context))
        guard let server = path.first else { throw internalError() }
        guard !server.isAuthority || (acceptsSelfSignedServer && path.count == 1) else {
            throw TrustRefusal(
                .leafIsCA, host: host.name, presented: path, expected: [],
                detail: "the server's certificate is a certification authority's (CA:TRUE): issue it one with CA:FALSE",
                openSSLError: X509_V_ERR_INVALID_NON_CA)
        }
        return path
    }

    private func configure(_ context: OpaquePointer) -> Bool {
        // Purpose and trust setting of a TLS server's certificate.
        guard X509_STORE_CTX_set_default(context, "ssl_server") == 1, let parameters = X509_STORE_CTX_get0_param(context) else {
            return false
        }
        // A path ends in a root, whatever anybody made of the store's parameters.
        X509_VERIFY_PARAM_clear_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST))
        X509_VERIFY_PARAM_set_depth(parameters, Self.maximumIntermediates)
        // 112 bits: RSA of 2048 bits and SHA-256 at least, whatever openssl.cnf says.
        X509_VERIFY_PARAM_set_auth_level(parameters, SecurityLevel.minimum)
        X509_VERIFY_PARAM_set_time(parameters, time_t(exactly: time.timeIntervalSince1970.rounded(.down)) ?? time_t.max)
        switch host.kind {
        case .name:
            X509_VERIFY_PARAM_set_hostflags(
                parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            return X509_VERIFY_PARAM_set1_host(parameters, host.name, host.name.utf8.count) == 1
        case .ipv4, .ipv6:
            return X509_VERIFY_PARAM_set1_ip_asc(parameters, host.name) == 1
        }
    }

    private func internalError() -> TrustRefusal {
        TrustRefusal(.other, host: host.name, detail: "OpenSSL could not begin to validate the path: is memory exhausted?")
    }
}
