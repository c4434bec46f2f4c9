import ApproovBase
import Attestation
public import Foundation

/// Custom JWTs: tokens with the app's own claims, for a party that is not an API of the account.
extension ApproovService {
    /// Fetches a custom JWT with the given claims, after a fresh attestation.
    ///
    /// The authority signs it with the account's keyset for custom JWTs, and only for a genuine app; the account must issue them
    /// (`approov customjwt -enable on`). It contains the claims, `aud`, `iss`, `iat` and `exp`, and lives as long as a token. It is never
    /// cached. No token check accepts it; the audience verifies it with the keyset's public key.
    ///
    /// - Parameters:
    ///   - claims: The claims, which JSON encodes as an object. The names of a token's own claims, such as `exp` and `sub`, are reserved.
    ///   - audience: The claim `aud`: 1 to 256 visible ASCII characters.
    ///   - policy: Decides about the result.
    /// - Returns: The JWT. Do not log it.
    /// - Throws: ``ApproovError`` with code `permanentError` when the claims are not an object of at most 4,096 bytes without reserved names,
    ///   the account issues no custom JWTs, or no host gets tokens; `networkingError` when the authority cannot be reached or does not work;
    ///   `rejectionError` when the app is not genuine; `interceptorError` when the policy threw; `CancellationError` when the task is
    ///   cancelled.
    public func customToken(
        _ claims: some Encodable, for audience: String, policy: any AttestationPolicy = StandardPolicy()
    ) async throws -> String {
        let payload: Data
        do {
            payload = try JSONEncoder().encode(claims)
        } catch {
            // Not as the cause: an encoder's error may describe the value.
            return try await customToken(.failure(Self.badClaims(nil)), for: audience, policy)
        }
        return try await customToken(payload: payload, for: audience, policy: policy)
    }

    /// Fetches a custom JWT with the claims of a JSON object, after a fresh attestation.
    ///
    /// As ``customToken(_:for:policy:)``, for claims that are already JSON.
    ///
    /// - Parameters:
    ///   - payload: A JSON object without repeated members.
    ///   - audience: The claim `aud`: 1 to 256 visible ASCII characters.
    ///   - policy: Decides about the result.
    /// - Returns: The JWT. Do not log it.
    /// - Throws: ``ApproovError`` as ``customToken(_:for:policy:)`` does.
    public func customToken(
        payload: Data, for audience: String, policy: any AttestationPolicy = StandardPolicy()
    ) async throws -> String {
        let claims: Result<CustomClaims, ApproovError>
        do {
            let json = try JSONValue(reading: Array(payload), limit: CustomClaims.maximumBytes)
            claims = .success(try CustomClaims(json, for: audience))
        } catch {
            claims = .failure(Self.badClaims(error))
        }
        return try await customToken(claims, for: audience, policy)
    }

    private func customToken(
        _ claims: Result<CustomClaims, ApproovError>, for audience: String, _ policy: any AttestationPolicy
    ) async throws -> String {
        var result: TokenFetchResult
        switch claims {
        case .failure(let error):
            result = TokenFetchResult(status: .badPayload, error: error)
        case .success(let claims):
            if let key = keyOfAnyHost {
                // A genuine app's result always has a custom JWT.
                result = await fetchOnce(key, AttestationDemand(customClaims: claims)) { $0.customToken == nil ? $0.rejected : $0 }
                    .withCustomToken
            } else {
                result = TokenFetchResult(status: .unknownURL, error: .noNamedHost)
            }
        }
        try Task.checkCancellation()
        let decision: TokenDecision
        do {
            decision = try await policy.decide(result, forCustomTokenTo: audience)
        } catch {
            throw PolicyHooks.explained(error, of: policy)
        }
        guard try decision.sendsWithout(result) == nil else { throw result.refusal }
        return result.token
    }

    private static func badClaims(_ cause: (any Error)?) -> ApproovError {
        ApproovError(
            .badRequest,
            "the claims of a custom JWT must be a JSON object of at most \(CustomClaims.maximumBytes) bytes without reserved names, and the"
                + " audience 1 to 256 visible ASCII characters", cause: cause)
    }
}
