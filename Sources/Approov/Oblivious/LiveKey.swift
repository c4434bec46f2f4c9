import HTTPClient
import HTTPTypes
import OHTTP

/// The live key that one pass of a request is sealed with; without a key as long as its route has no live keys.
struct LiveKey: Sendable {
    private(set) var key: KeyConfiguration?
    private var isRenewed = false

    /// Returns this with the key, which is fetched unless it is known.
    ///
    /// - Parameters:
    ///   - keys: The keys of the request's route.
    ///   - deadline: The end of the time for the request.
    /// - Returns: This, with the key.
    /// - Throws: The errors of ``LiveKeys/key(invalidatingCache:)``; ``ApproovError`` with code `timedOut`.
    func fetched(from keys: LiveKeys, by deadline: RequestDeadline) async throws -> LiveKey {
        guard key == nil else { return self }
        var fetched = self
        fetched.key = try await deadline.limit { try await keys.key() }
        return fetched
    }

    /// Returns this with a newer key after the gateway refused this one, so that the request can be sent once more.
    ///
    /// - Parameters:
    ///   - keys: The keys of the request's route.
    ///   - draft: The request.
    ///   - deadline: The end of the time for the request.
    /// - Returns: This, with the newer key.
    /// - Throws: ``ApproovError`` with code `obliviousError` when the request must not or cannot be sent again; the
    ///   errors of ``fetched(from:by:)``.
    func renewed(from keys: LiveKeys, for draft: RequestDraft, by deadline: RequestDeadline) async throws -> LiveKey {
        guard let refused = key, !isRenewed else { throw LiveKeys.refusedAgain }
        var renewed = self
        renewed.isRenewed = true
        let isIdempotent = draft.method.isIdempotent
        renewed.key = try await deadline.limit { try await keys.key(after: refused, isIdempotent: isIdempotent) }
        guard draft.body.canBeSentAgain else {
            throw ApproovError(
                .obliviousError,
                "the gateway does not accept the key that the request was sealed with, and the body's stream cannot be sent twice: send the "
                    + "request again with another stream; the gateway's current keys are fetched")
        }
        return renewed
    }
}
