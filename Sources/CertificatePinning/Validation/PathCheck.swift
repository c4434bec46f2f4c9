internal import COpenSSL
internal import Foundation

/// Validates the certification path (RFC 5280, section 6) of one server, for one host at one time.
struct PathCheck {
    let presented: PresentedPath
    let host: CanonicalHost
    let anchors: TrustAnchors
    let time: Date
    /// Whether the server's certificate may be a certification authority's if it is itself an anchor.
    let acceptsSelfSignedServer: Bool
    /// The limit of the search for paths other than OpenSSL's first.
    let searchLimit: PathSearchLimit

    /// Returns the path from the server's certificate to a trusted root: OpenSSL's first one, or else the first valid one among the others.
    ///
    /// - Returns: The path, the server's certificate first.
    /// - Throws: ``TrustRefusal`` when no path is valid.
    func validatedPath() throws(TrustRefusal) -> [Certificate] {
        guard let leaf = presented.leaf else {
            throw TrustRefusal(.noCertificate, host: host.name, detail: "the server sent no certificate")
        }
        // Errors that OpenSSL records during the search must not reach the surrounding handshake through the thread's error queue.
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        switch verify(leaf, through: presented.certificates) {
        case .valid(let path): return path
        case .refused(let refusal): throw refusal
        case .invalid(let failure): return try otherPath(than: failure, leaf)
        }
    }

    /// OpenSSL's verdict on one path.
    private enum Verdict {
        case valid([Certificate])
        /// Another path may be valid.
        case invalid(PathFailure)
        /// No other path can change the result.
        case refused(TrustRefusal)
    }

    /// Lets OpenSSL build and verify a path.
    ///
    /// - Parameters:
    ///   - leaf: The server's certificate.
    ///   - certificates: The certificates that the path may use, a STACK_OF(X509).
    ///   - anchor: The only trusted certificate, a STACK_OF(X509); nil to trust all anchors.
    /// - Returns: OpenSSL's verdict, which includes whether the host is within the name constraints of the path.
    private func verify(_ leaf: OpaquePointer, through certificates: OpaquePointer?, to anchor: OpaquePointer? = nil) -> Verdict {
        guard let context = X509_STORE_CTX_new() else { return .refused(internalError()) }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_CTX_init(context, anchors.store, leaf, certificates) == 1, configure(context, isFirst: anchor == nil) else {
            return .refused(internalError())
        }
        if let anchor { X509_STORE_CTX_set0_trusted_stack(context, anchor) }
        guard X509_verify_cert(context) == 1 else { return .invalid(PathFailure(context, host: host)) }
        let path = PresentedPath.array(X509_STORE_CTX_get0_chain(context))
        guard let server = path.first else { return .refused(internalError()) }
        guard !server.isAuthority || (acceptsSelfSignedServer && path.count == 1) else {
            return .refused(
                TrustRefusal(
                    .leafIsCA, host: host.name, presented: path, expected: [],
                    detail: "the server's certificate is that of a certification authority (CA:TRUE); issue the server one with CA:FALSE",
                    openSSLError: X509_V_ERR_INVALID_NON_CA))
        }
        return judgeConstraints(of: path, leaf)
    }

    /// Checks the requested host against the path's name constraints.
    private func judgeConstraints(of path: [Certificate], _ leaf: OpaquePointer) -> Verdict {
        guard path.dropFirst().contains(where: NameConstraints.exist) else { return .valid(path) }
        do {
            guard let named = try NameConstraints.copy(of: leaf, for: host) else { return .valid(path) }
            for issuer in path.dropFirst() {
                let code = NameConstraints.judge(named, below: issuer)
                guard code == X509_V_OK else { return .invalid(PathFailure(code, host: host, isOutside: issuer)) }
            }
            return .valid(path)
        } catch {
            return .refused(internalError())
        }
    }

    /// Tries the other paths that the sent certificates allow.
    ///
    /// Each run of OpenSSL gets the certificates of one path only, because OpenSSL does not go back to try other issuers than the first
    /// that it finds.
    private func otherPath(than failure: PathFailure, _ leaf: OpaquePointer) throws(TrustRefusal) -> [Certificate] {
        let sent = presented.all()
        guard failure.isOfThePath, let server = sent.first else { throw failure.refusal(presented: sent, anchors: anchors) }
        var budget = PathSearchBudget(searchLimit)
        let copy: Certificate?
        do {
            copy = try NameConstraints.copy(of: leaf, for: host)
        } catch {
            throw internalError()
        }
        // The server's certificate and, for a host name, its copy for the requested host alone.
        let named = [server] + (copy.map { [$0] } ?? [])
        let graph = PathGraph(
            sent: sent, trusted: anchors.certificates, rules: IssuerRules(time: checkTime), budget: &budget,
            permits: { issuer in named.allSatisfy { NameConstraints.judge($0, below: issuer) == X509_V_OK } })
        var search = PathSearch(graph, budget: budget)
        let found = search.first { path -> [Certificate]? in
            guard case .valid(let valid) = verify(leaf, path) else { return nil }
            return valid
        }
        guard let found else { throw failure.refusal(presented: sent, anchors: anchors, after: search.budget) }
        return found
    }

    /// Verifies one path, from the server's certificate to the root.
    private func verify(_ leaf: OpaquePointer, _ path: [Certificate]) -> Verdict {
        let intermediates = COpenSSL_chain_new()
        let anchor = COpenSSL_chain_new()
        defer {
            COpenSSL_chain_free(intermediates)
            COpenSSL_chain_free(anchor)
        }
        for certificate in path.dropFirst().dropLast() where COpenSSL_chain_append(intermediates, certificate.x509) != 1 {
            return .refused(internalError())
        }
        guard let root = path.last, COpenSSL_chain_append(anchor, root.x509) == 1 else { return .refused(internalError()) }
        return verify(leaf, through: intermediates, to: anchor)
    }

    private var checkTime: time_t { time_t(exactly: time.timeIntervalSince1970.rounded(.down)) ?? time_t.max }

    private func configure(_ context: OpaquePointer, isFirst: Bool) -> Bool {
        // The purpose and trust settings of a TLS server's certificate.
        guard X509_STORE_CTX_set_default(context, "ssl_server") == 1, let parameters = X509_STORE_CTX_get0_param(context) else {
            return false
        }
        // A path must end in a root, even if other code changed the parameters of the store.
        X509_VERIFY_PARAM_clear_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        if isFirst {
            X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST))
        } else {
            // The path is given here. The root must not replace a certificate with the same name and another key.
            X509_VERIFY_PARAM_clear_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST))
        }
        X509_VERIFY_PARAM_set_depth(parameters, PathSearchLimit.maximumIntermediates)
        // 112 bits: at least RSA of 2048 bits and SHA-256, whatever openssl.cnf says.
        X509_VERIFY_PARAM_set_auth_level(parameters, SecurityLevel.minimum)
        X509_VERIFY_PARAM_set_time(parameters, checkTime)
        // These flags are needed for an address, too: without them, OpenSSL checks a common name that looks like a host against the name
        // constraints.
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        switch host.kind {
        case .name: return X509_VERIFY_PARAM_set1_host(parameters, host.name, host.name.utf8.count) == 1
        case .ipv4, .ipv6: return X509_VERIFY_PARAM_set1_ip_asc(parameters, host.name) == 1
        }
    }

    private func internalError() -> TrustRefusal {
        TrustRefusal(.other, host: host.name, detail: "OpenSSL cannot begin to validate the path; memory may be exhausted")
    }
}
