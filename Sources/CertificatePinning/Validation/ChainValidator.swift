internal import COpenSSL
public import Foundation

/// Validates certificate paths: OpenSSL first, then the rule's evaluators, which see only the validated path.
///
/// All path validation happens here. If a server's certificates allow several paths, OpenSSL builds the first one, preferring a trusted
/// root to a sent certificate at every step. If this path is invalid, the others are tried: at most 64, and no step of the search begins
/// after 100 ms. The first valid path is final. No other path is tried because of a missing pin, revocation or another evaluator.
public enum ChainValidator {
    /// Judges a certificate path without a network connection.
    ///
    /// - Parameters:
    ///   - chain: The certificates as a server would send them, its own first.
    ///   - host: The requested host.
    ///   - rule: The rule of the host.
    ///   - defaultAnchors: The roots, unless the rule has its own.
    ///   - time: The time for which the path is validated.
    ///   - stapledResponse: The OCSP response that the server stapled.
    ///   - lookupResults: The results of earlier look-ups.
    /// - Returns: The validated path, or why the server is refused.
    public static func evaluate(
        chain: [Certificate], host: CanonicalHost, rule: TrustRule, defaultAnchors: TrustAnchors, time: Date,
        stapledResponse: [UInt8]? = nil, lookupResults: [TrustLookup: TrustLookupResult] = [:]
    ) -> Result<ServerTrust, TrustRefusal> {
        evaluate(
            chain: chain, host: host, rule: rule, defaultAnchors: defaultAnchors, time: time, stapledResponse: stapledResponse,
            lookupResults: lookupResults, searchLimit: PathSearchLimit())
    }

    /// Judges a certificate path without a network connection, with the given limit for the search for other paths.
    ///
    /// - Parameters:
    ///   - chain: The certificates as a server would send them, its own first.
    ///   - host: The requested host.
    ///   - rule: The rule of the host.
    ///   - defaultAnchors: The roots, unless the rule has its own.
    ///   - time: The time for which the path is validated.
    ///   - stapledResponse: The OCSP response that the server stapled.
    ///   - lookupResults: The results of earlier look-ups.
    ///   - searchLimit: The limit of the search for paths other than OpenSSL's first.
    /// - Returns: The validated path, or why the server is refused.
    package static func evaluate(
        chain: [Certificate], host: CanonicalHost, rule: TrustRule, defaultAnchors: TrustAnchors, time: Date,
        stapledResponse: [UInt8]? = nil, lookupResults: [TrustLookup: TrustLookupResult] = [:], searchLimit: PathSearchLimit
    ) -> Result<ServerTrust, TrustRefusal> {
        let stack = COpenSSL_chain_new()
        defer { COpenSSL_chain_free(stack) }
        for certificate in chain where COpenSSL_chain_append(stack, certificate.x509) != 1 {
            return .failure(TrustRefusal(.other, host: host.name, detail: "OpenSSL is out of memory"))
        }
        return withExtendedLifetime(chain) {
            let presented = PresentedPath(leaf: chain.first?.x509, certificates: stack)
            return validate(presented, host, rule, defaultAnchors, time, stapledResponse, lookupResults, searchLimit)
                .flatMap { judge($0, rule: rule) { _ in [:] } }
        }
    }

    /// Judges the server of a TLS handshake, from within the callback of `SSL_CTX_set_cert_verify_callback`.
    ///
    /// Only the server's certificates are taken from the handshake. The roots and the validation parameters come from the rule, because
    /// libcurl 7.87 to 8.2 fills or replaces the store of an `SSL_CTX` after handing it out (curl#11800), and accepts an intermediate as an
    /// anchor.
    ///
    /// - Parameters:
    ///   - context: The `X509_STORE_CTX` of the callback. Its error is set to match the judgement.
    ///   - host: The requested host.
    ///   - rule: The rule of the host.
    ///   - defaultAnchors: The roots, unless the rule has its own.
    ///   - time: The time for which the path is validated; nil for now.
    ///   - lookupResults: The results of earlier look-ups.
    ///   - recentResults: Returns the answers that are at hand to look-ups that an evaluator needs; called at most twice.
    ///   - port: The requested port, for the rule's observer.
    ///   - isLast: Whether the server will not be judged again after look-ups. If so, missing look-ups are reported to the observer as a
    ///     refusal.
    ///   - searchLimit: The limit of the search for paths other than OpenSSL's first.
    /// - Returns: The judgement, which may have to wait for the stapled response.
    package static func evaluate(
        handshake context: OpaquePointer, host: CanonicalHost, rule: TrustRule, defaultAnchors: TrustAnchors, time: Date?,
        lookupResults: [TrustLookup: TrustLookupResult] = [:], recentResults: ([TrustLookup]) -> [TrustLookup: TrustLookupResult],
        port: Int? = nil, isLast: Bool = false, searchLimit: PathSearchLimit = PathSearchLimit()
    ) -> HandshakeJudgement {
        let presented = PresentedPath(
            leaf: X509_STORE_CTX_get0_cert(context), certificates: X509_STORE_CTX_get0_untrusted(context))
        let ssl = COpenSSL_ssl_of(context)
        // TLS 1.2 sends the status in a separate message after the certificates (RFC 6066, section 8), TLS 1.3 together with them.
        let isStatusToCome = rule.requestsStatus && SSL_version(ssl) <= TLS1_2_VERSION
        let validated = validate(
            presented, host, rule, defaultAnchors, time ?? Date(), isStatusToCome ? nil : stapledResponse(of: ssl), lookupResults,
            searchLimit, port)
        let judgement: HandshakeJudgement =
            switch validated {
            case .failure(let refusal): .refused(refusal)
            case .success(let trust) where isStatusToCome: .awaitsStatus(trust)
            case .success(let trust):
                HandshakeJudgement(judge(trust, rule: rule, port: port, isLast: isLast, recentResults: recentResults))
            }
        switch judgement {
        case .refused(let refusal): X509_STORE_CTX_set_error(context, refusal.openSSLError)
        case .trusted(let trust), .awaitsStatus(let trust):
            X509_STORE_CTX_set_error(context, X509_V_OK)
            if trust.isPathValidated { keep(trust.chain, in: context) }
        }
        return judgement
    }

    /// Judges a server whose judgement awaits the status, from within the callback of `SSL_CTX_set_tlsext_status_cb`.
    ///
    /// - Parameters:
    ///   - ssl: The `SSL` of the callback.
    ///   - trust: The validated path from the verify callback.
    ///   - rule: The rule of the host.
    ///   - recentResults: Returns the answers that are at hand to look-ups that an evaluator needs; called at most twice.
    ///   - port: The requested port, for the rule's observer.
    ///   - isLast: Whether the server will not be judged again after look-ups. If so, missing look-ups are reported to the observer as a
    ///     refusal.
    /// - Returns: The validated path, or why the server is refused.
    package static func evaluate(
        status ssl: OpaquePointer, of trust: ServerTrust, rule: TrustRule,
        recentResults: ([TrustLookup]) -> [TrustLookup: TrustLookupResult], port: Int? = nil, isLast: Bool = false
    ) -> Result<ServerTrust, TrustRefusal> {
        // Unlike after the verify callback, OpenSSL does not clear the thread's error queue: an error that an evaluator left there would
        // make the handshake fail.
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return judge(
            ServerTrust(
                chain: trust.chain, host: trust.host, time: trust.time, stapledResponse: stapledResponse(of: ssl),
                lookupResults: trust.lookupResults, isPathValidated: trust.isPathValidated),
            rule: rule, port: port, isLast: isLast, recentResults: recentResults)
    }

    /// Stores the accepted path in the handshake, where SSL_get0_verified_chain finds it.
    private static func keep(_ path: [Certificate], in context: OpaquePointer) {
        guard let chain = COpenSSL_chain_new() else { return }
        for certificate in path where COpenSSL_chain_append(chain, certificate.x509) != 1 {
            COpenSSL_chain_free(chain)
            return
        }
        X509_STORE_CTX_set0_verified_chain(context, chain)
    }

    private static func stapledResponse(of ssl: OpaquePointer?) -> [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        let count = ssl.map { COpenSSL_stapled_response($0, &bytes) } ?? 0
        guard count > 0, let bytes else { return nil }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: count))
    }

    private static func validate(
        _ presented: PresentedPath, _ host: CanonicalHost, _ rule: TrustRule, _ defaultAnchors: TrustAnchors, _ time: Date,
        _ stapledResponse: [UInt8]?, _ lookupResults: [TrustLookup: TrustLookupResult], _ searchLimit: PathSearchLimit,
        _ port: Int? = nil
    ) -> Result<ServerTrust, TrustRefusal> {
        if let flaw = rule.flaw { return .failure(TrustRefusal(.evaluatorFailed, host: host.name, detail: flaw.description)) }
        let check = PathCheck(
            presented: presented, host: host, anchors: rule.anchors ?? defaultAnchors, time: time,
            acceptsSelfSignedServer: rule.acceptsSelfSignedServer, searchLimit: searchLimit)
        do throws(TrustRefusal) {
            let chain = rule.validatesPath ? try check.validatedPath() : presented.all()
            return .success(
                ServerTrust(
                    chain: chain, host: host, time: time, stapledResponse: stapledResponse, lookupResults: lookupResults,
                    isPathValidated: rule.validatesPath))
        } catch {
            if rule.observer != nil {
                tell(rule, of: error, host, presented.all(), time, isPathValidated: false, isEnforced: true, port)
            }
            return .failure(error)
        }
    }

    /// How many times the evaluators are asked again with answers that are at hand; a client makes this many rounds of look-ups.
    private static let maximumLookupRounds = 2

    private static func judge(
        _ trust: ServerTrust, rule: TrustRule, port: Int? = nil, isLast: Bool = false,
        recentResults: ([TrustLookup]) -> [TrustLookup: TrustLookupResult]
    ) -> Result<ServerTrust, TrustRefusal> {
        var trust = trust
        var verdict = CombinedVerdict(of: rule.evaluators, trust, forHost: trust.host.name)
        for _ in 0..<maximumLookupRounds where !verdict.lookups.isEmpty {
            let found = recentResults(verdict.lookups).filter { trust.lookupResults[$0.key] == nil }
            guard !found.isEmpty else { break }
            trust = trust.adding(found)
            verdict = CombinedVerdict(of: rule.evaluators, trust, forHost: trust.host.name)
        }
        var refusal = verdict.refusal
        if !verdict.lookups.isEmpty {
            let unavailable = TrustRefusal(
                .lookupsUnavailable, host: trust.host.name, presented: trust.chain, expected: [],
                detail: missing(verdict.lookups.count, isLast: isLast), lookups: verdict.lookups)
            // The server will be judged again after the look-ups, and reported then.
            guard isLast else { return .failure(unavailable) }
            refusal = unavailable
        }
        for (refusal, isEnforced) in verdict.reports.map({ ($0, false) }) + (refusal.map { [($0, true)] } ?? []) {
            tell(
                rule, of: refusal, trust.host, trust.chain, trust.time, isPathValidated: trust.isPathValidated, isEnforced: isEnforced, port
            )
        }
        return refusal.map(Result.failure) ?? .success(trust)
    }

    private static func missing(_ count: Int, isLast: Bool) -> String {
        guard isLast else {
            return "the evaluators need \(count) OCSP responses or CRLs; look them up, and judge the server again with the results"
        }
        return "after two rounds of look-ups the evaluators need \(count) more OCSP responses or CRLs, as when each connection reaches"
            + " another server with another certificate; send the request again, and let the servers staple OCSP responses or share a"
            + " certificate"
    }

    /// Informs the rule's observer; the certificates are limited because a server may send as many as fit into 100 kB.
    private static func tell(
        _ rule: TrustRule, of refusal: TrustRefusal, _ host: CanonicalHost, _ chain: [Certificate], _ time: Date, isPathValidated: Bool,
        isEnforced: Bool, _ port: Int?
    ) {
        rule.observer?(
            TrustViolation(
                refusal: refusal, certificates: Array(chain.prefix(TrustRefusal.maximumPresented)), host: host, port: port, time: time,
                isPathValidated: isPathValidated, isEnforced: isEnforced))
    }
}
