import CertificatePinning
import FoundationNetworking
import HTTPClient

/// Station 1: refuses, before any I/O, a request that must not be sent at all.
///
/// Checks the app's own list of hosts, too.
struct AllowListStation: Sendable {
    /// Nil to allow every host.
    var allowedHosts: AllowedHosts?

    /// Whether connections to addresses that are not public are refused.
    var refusesPrivateAddresses: Bool { allowedHosts?.refusesPrivateAddresses ?? false }

    private var defaults: SessionDefaults?

    /// Makes a station that allows every host.
    init() {}

    /// Reads the session's configuration.
    ///
    /// - Throws: ``ApproovError`` with code `initializationError` when addresses must be judged, but a proxy would choose them.
    init(_ configuration: ApproovSessionConfiguration, _ defaults: SessionDefaults) throws {
        allowedHosts = configuration.allowedHosts
        self.defaults = defaults
        guard !refusesPrivateAddresses || defaults.httpProxy == nil && defaults.httpsProxy == nil else {
            throw ApproovError(
                .initializationError,
                "a proxy chooses the addresses to connect to, so the session cannot refuse private ones: remove the proxy, or"
                    + " refusesPrivateAddresses")
        }
    }

    /// Checks one step of a request.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - hop: The rules for its host.
    /// - Throws: ``ApproovError`` with code `hostNotAllowed` for a host that the app does not allow, `pinningError` for plain http to a host whose server must be checked, and `unsupported` for a
    ///   request that only a cache could answer; `TrustRefusal` for a host without an evaluator where every host must have one.
    func check(_ step: RedirectStep, under hop: ResolvedHop) throws {
        if let allowedHosts { try allowedHosts.check(step.url) }
        let trust = hop.policy.trust
        guard step.url.isSecure || !(hop.isEvaluated || trust.refusesUnmatchedHosts) else {
            throw ApproovError(
                .pinningError, "\(step.url.host) is a host whose server must be checked, and plain http cannot be checked: use https")
        }
        // The policy itself throws the refusal, which names the host and the remedy.
        if trust.refusesUnmatchedHosts, !hop.isEvaluated { _ = try trust.rule(for: step.url.host) }
        let cachePolicy = defaults?.cachePolicy(of: step.request) ?? step.request.cachePolicy
        guard cachePolicy != .returnCacheDataDontLoad else {
            throw ApproovError(.unsupported, "the session has no cache, so returnCacheDataDontLoad cannot work: set another cachePolicy")
        }
    }
}
