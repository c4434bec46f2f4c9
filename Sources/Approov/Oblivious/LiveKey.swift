import HTTPClient
import HTTPTypes
import OHTTP

/// The live key that one pass of a request is sealed with; without a key as long as its route has no live keys.
struct LiveKey: Sendable {
    private(set) var key: KeyConfiguration?
    private var isRenewed = false

    /// Gets the key, unless it is known.
    ///
    /// - Parameters:
    ///   - keys: The keys of the request's route.
    ///   - deadline: The end of the time for the request.
    /// - Throws: The errors of ``LiveKeys/key(invalidatingCache:)``; ``ApproovError`` with code `timedOut`.
    mutating func fetch(from keys: LiveKeys, by deadline: RequestDeadline) async throws {
        guard key == nil else { return }
        key = try await deadline.limit { try await keys.key() }
    }

    /// Gets a newer key after the gateway refused this one, so that the request can be sent once more.
    ///
    /// - Parameters:
    ///   - keys: The keys of the request's route.
    ///   - draft: The request.
    ///   - deadline: The end of the time for the request.
    /// - Throws: ``ApproovError`` with code `obliviousError` when the request must not or cannot be sent again; the errors of `fetch`.
    mutating func renew(from keys: LiveKeys, for draft: RequestDraft, by deadline: RequestDeadline) async throws {
        guard let refused = key, !isRenewed else { throw LiveKeys.refusedAgain }
        isRenewed = true
        let isIdempotent = draft.method.isIdempotent
        key = try await deadline.limit { try await keys.key(after: refused, isIdempotent: isIdempotent) }
        guard draft.body.canBeSentAgain else {
            throw ApproovError(
                .obliviousError,
                "the gateway does not accept the key that the request was sealed with, and the body's stream cannot be sent twice: send the "
                    + "request again with another stream; the gateway's current keys are fetched")
        }
    }
}
