import CertificatePinning
import FoundationNetworking
import HTTPClient

/// Station 1: refuses, before any I/O, a request that must not be sent at all.
///
/// The app's own list of hosts, once there is one, is checked here.
struct AllowListStation: Sendable {
    /// Checks one step of a request.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - hop: The rules for its host.
    /// - Throws: ``ApproovError`` with code `pinningError` for plain http to a host whose server must be checked, and `unsupported` for a
    ///   request that only a cache could answer; `TrustRefusal` for a host without an evaluator where every host must have one.
    func check(_ step: RedirectStep, under hop: ResolvedHop) throws {
        let trust = hop.policy.trust
        guard step.url.isSecure || !(hop.isEvaluated || trust.refusesUnmatchedHosts) else {
            throw ApproovError(
                .pinningError, "\(step.url.host) is a host whose server must be checked, and plain http cannot be checked: use https")
        }
        // The policy itself throws the refusal, which names the host and the remedy.
        if trust.refusesUnmatchedHosts, !hop.isEvaluated { _ = try trust.rule(for: step.url.host) }
        guard step.request.cachePolicy != .returnCacheDataDontLoad else {
            throw ApproovError(.unsupported, "the session caches no response, so none can be returned without loading: use another policy")
        }
    }
}
