internal import COpenSSL
public import Foundation

/// The one place where a certificate path is validated: OpenSSL first, the rule's evaluators second, over the validated path only.
///
/// Where a server's certificates allow several paths, the one is taken that OpenSSL builds: at every step a trusted root before what
/// the server sent. A pin holds when it is on that path; no other path is tried for its sake.
public enum ChainValidator {
    /// Judges a chain without a network.
    ///
    /// - Parameters:
    ///   - chain: The certificates as a server would send them, its own first.
    ///   - host: The host that is asked for.
    ///   - rule: What holds for the host.
    ///   - defaultAnchors: The roots, unless the rule has its own.
    ///   - time: The time for which the path is validated.
    ///   - lookupResults: What look-ups brought.
    /// - Returns: The validated path, or why the server is refused.
    public static func evaluate(
        chain: [Certificate], host: CanonicalHost, rule: TrustRule, defaultAnchors: TrustAnchors, time: Date,
        lookupResults: [TrustLookup: TrustLookupResult] = [:]
    ) -> Result<ServerTrust, TrustRefusal> {
        let stack = COpenSSL_chain_new()
        defer { COpenSSL_chain_free(stack) }
        for certificate in chain where COpenSSL_chain_append(stack, certificate.x509) != 1 {
            return .failure(TrustRefusal(.other, host: host.name, detail: "OpenSSL is out of memory"))
        }
        return withExtendedLifetime(chain) {
            let presented = PresentedPath(leaf: chain.first?.x509, certificates: stack)
            let check = PathCheck(presented: presented, host: host, anchors: rule.anchors ?? defaultAnchors, time: time)
            return judge(check, rule: rule, lookupResults: lookupResults)
        }
    }

    /// Judges the server of a TLS handshake, from within the callback of `SSL_CTX_set_cert_verify_callback`.
    ///
    /// What the server sent is all that is taken from the handshake. The roots and the parameters of the check come from the rule,
    /// because libcurl from 7.87 to 8.2 fills or replaces the store of an `SSL_CTX` after it was handed out (curl#11800), and lets an
    /// intermediate be an anchor.
    ///
    /// - Parameters:
    ///   - context: The `X509_STORE_CTX` of the callback. Its error is set to what the callback's answer means.
    ///   - host: The host that is asked for.
    ///   - rule: What holds for the host.
    ///   - defaultAnchors: The roots, unless the rule has its own.
    ///   - time: The time for which the path is validated; nil: now.
    ///   - lookupResults: What look-ups brought.
    ///   - port: The port that is asked for, for the rule's observer.
    /// - Returns: The validated path, or why the server is refused.
    public static func evaluate(
        handshake context: OpaquePointer, host: CanonicalHost, rule: TrustRule, defaultAnchors: TrustAnchors, time: Date?,
        lookupResults: [TrustLookup: TrustLookupResult] = [:], port: Int? = nil
    ) -> Result<ServerTrust, TrustRefusal> {
        let presented = PresentedPath(
            leaf: X509_STORE_CTX_get0_cert(context), certificates: X509_STORE_CTX_get0_untrusted(context))
        let check = PathCheck(presented: presented, host: host, anchors: rule.anchors ?? defaultAnchors, time: time ?? Date())
        let result = judge(check, rule: rule, lookupResults: lookupResults, port: port)
        switch result {
        case .success: X509_STORE_CTX_set_error(context, X509_V_OK)
        case .failure(let refusal): X509_STORE_CTX_set_error(context, refusal.openSSLError)
        }
        return result
    }

    private static func judge(
        _ check: PathCheck, rule: TrustRule, lookupResults: [TrustLookup: TrustLookupResult], port: Int? = nil
    ) -> Result<ServerTrust, TrustRefusal> {
        /// Tells the rule's observer; a server may send as many certificates as fit into 100 kB, and ten say enough.
        func tell(of refusal: TrustRefusal, chain: [Certificate], isPathValidated: Bool = rule.validatesPath, isEnforced: Bool = true) {
            rule.observer?(
                TrustViolation(
                    refusal: refusal, certificates: Array(chain.prefix(10)), host: check.host, port: port, time: check.time,
                    isPathValidated: isPathValidated, isEnforced: isEnforced))
        }
        let chain: [Certificate]
        do throws(TrustRefusal) {
            chain = rule.validatesPath ? try check.validatedPath() : check.presented.all()
        } catch {
            tell(of: error, chain: rule.observer == nil ? [] : check.presented.all(), isPathValidated: false)
            return .failure(error)
        }
        let trust = ServerTrust(
            chain: chain, host: check.host, time: check.time, lookupResults: lookupResults, isPathValidated: rule.validatesPath)
        for evaluator in rule.evaluators {
            switch evaluator.evaluate(trust, forHost: check.host.name) {
            case .trusted: continue
            case .reported(let refusal): tell(of: refusal, chain: chain, isEnforced: false)
            case .refused(let refusal):
                tell(of: refusal, chain: chain)
                return .failure(refusal)
            case .needs(let lookups):
                return .failure(
                    TrustRefusal(
                        .lookupsUnavailable, trust: trust,
                        detail: "the evaluator \(type(of: evaluator)) needs \(lookups.count) look-ups that nobody performed"))
            }
        }
        return .success(trust)
    }
}
