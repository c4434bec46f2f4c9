import ApproovBase
import Attestation
import CertificatePinning
public import Foundation

/// Attestations for one caller, past the cache, and what the service tells about the last one.
extension ApproovService {
    /// Fetches a token for one request, which an API that consumes tokens accepts once.
    ///
    /// Every call attests: the token is never cached, prefetched or refreshed, and is valid for 60 s at most. Use such tokens for few
    /// requests that must not be replayed, such as a payment. Waits at most as long as ``ApproovServiceLimits/fetchTimeout``.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value to tie the token to; nil for none, as for ``fetchToken(for:binding:)``.
    /// - Returns: The token, or the status and error that say why it is missing.
    public func fetchLimitedUseToken(for url: URL, binding: String? = nil) async -> TokenFetchResult {
        switch tokenKey(for: url, binding: binding) {
        case .success(let key): await limitedUseToken(for: key)
        case .failure(let failure): TokenFetchResult(failure)
        }
    }

    /// Fetches a limited-use token.
    func limitedUseToken(for key: TokenKey) async -> TokenFetchResult {
        await fetchOnce(key, AttestationDemand(isLimitedUse: true))
    }

    /// How the last attestation ended, for which host and when; nil before the first one.
    ///
    /// It tells the ARC, the trace ID and the error, for a support request for example, but never contains the token. A token from the
    /// cache does not count.
    public var lastResult: TokenFetchResult? { last.value }

    /// Attests once and fails if the app could not get a token, so that an app learns of a problem before the first request.
    ///
    /// The attestation is for the first protected host, with a new challenge, and its token is not kept.
    ///
    /// This is one of the few calls that tell an app whether it is genuine: the authority sends secure strings to genuine apps alone. A
    /// build that passes by a development key or by its device's policy does not count as genuine.
    ///
    /// - Parameter policy: Decides about the result.
    /// - Throws: ``ApproovError`` with code `networkingError` when the authority cannot be reached or does not work, `rejectionError` when
    ///   the attestation failed, or passed only by a development key or the device's policy, and `permanentError` when no token can be
    ///   obtained or no host gets tokens; `interceptorError` when the policy threw; `CancellationError` when the task is cancelled.
    public func precheck(policy: any AttestationPolicy = StandardPolicy()) async throws {
        guard let key = keyOfAnyHost else { throw ApproovError.noNamedHost }
        let result = await fetchOnce(key, AttestationDemand(usesNewChallenge: true)) { $0.isGenuine ? $0 : $0.rejected }
        try Task.checkCancellation()
        let decision: TokenDecision
        do {
            decision = try await policy.decide(result, forPrecheckOf: key.host)
        } catch {
            throw PolicyHooks.explained(error, of: policy)
        }
        _ = try decision.sendsWithout(result)
    }

    /// The key of an unbound token for the first host that gets tokens and is not a pattern; nil if there is none.
    ///
    /// A token for an oblivious host tells less about the app, so its key comes only if there is no other.
    var keyOfAnyHost: TokenKey? {
        let named = keeper.current.protectedHosts.lazy.filter(\.settings.attested)
            .compactMap { entry in (try? CanonicalHost(entry.name)).map { (name: $0, entry: entry) } }
        return (named.first(where: { !$0.entry.settings.oblivious }) ?? named.first)
            .map { TokenKey(host: $0.name, entry: $0.entry, binding: nil) }
    }

    /// Fetches a token for one caller, past the cache, and notes how that ended.
    ///
    /// - Parameters:
    ///   - key: The key of the token.
    ///   - demand: What the attestation is to bring.
    ///   - judge: Returns the result as the caller sees it.
    /// - Returns: The judged result.
    func fetchOnce(
        _ key: TokenKey, _ demand: AttestationDemand, judge: @escaping @Sendable (TokenFetchResult) -> TokenFetchResult = { $0 }
    ) async -> TokenFetchResult {
        let fetch = SingleFetch(time: time, timeout: limits.fetchTimeout)
        @Sendable func judged(_ result: TokenFetchResult) -> TokenFetchResult { judge(result.asked(for: key.host, at: time.date)) }
        let result = await fetch.run(noting: { [last] in last.note(judged($0)) }) { [authority, keeper, notes, time] in
            await Self.fetch(key, demand, from: authority, keeper: keeper, notes, at: time)
        }
        return judged(result)
    }
}

extension ApproovError {
    static var noNamedHost: ApproovError {
        ApproovError(.permanentError, "the configuration names no single host that gets tokens: add one with `approov api -add`")
    }
}
