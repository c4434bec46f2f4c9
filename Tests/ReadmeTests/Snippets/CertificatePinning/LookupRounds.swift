import CertificatePinning
import Foundation

func judge(
    _ chain: [Certificate], of host: CanonicalHost, by rule: TrustRule, roots: TrustAnchors,
    fetch: (TrustLookup) async throws -> [UInt8]
) async -> Result<ServerTrust, TrustRefusal> {
    var results: [TrustLookup: TrustLookupResult] = [:]
    for _ in 1...2 {
        let judged = ChainValidator.evaluate(
            chain: chain, host: host, rule: rule, defaultAnchors: roots, time: Date(), lookupResults: results)
        guard case .failure(let refusal) = judged, refusal.reason == .lookupsUnavailable else { return judged }
        for lookup in refusal.lookups {
            do {
                results[lookup] = TrustLookupResult(of: lookup, bytes: try await fetch(lookup), receivedAt: Date())
            } catch {
                results[lookup] = TrustLookupResult(failure: "\(error)", receivedAt: Date())
            }
        }
    }
    return ChainValidator.evaluate(
        chain: chain, host: host, rule: rule, defaultAnchors: roots, time: Date(), lookupResults: results)
}
