import FoundationNetworking
import HTTPClient

/// After station 5: shows the request to the caller's policy, which may change it before it is signed.
struct PolicyStation: Sendable {
    /// Nil without a policy.
    let hooks: PolicyHooks?

    /// Whether there is no policy, so that the station has nothing to do.
    var isOff: Bool { hooks == nil }

    /// Shows a request to the policy unless its host or URL gets no token.
    ///
    /// - Parameter draft: The request; on return, with the changes of the policy.
    /// - Throws: ``ApproovError`` or `CancellationError` of the policy; ``ApproovError`` with code `interceptorError` when the policy threw
    ///   another error or changed what it must not change, and `badRequest` when the request cannot be sent.
    func didPrepare(_ draft: inout RequestDraft) async throws {
        guard let hooks else { return }
        if case .notAttested = draft.token { return }
        var request = draft.timedRequest
        if try await hooks.didPrepare(&request, &draft.fields, &draft.url, draft.substitutes) { draft.body = RequestBody(of: request) }
        draft.noteTimeout(of: request)
        // The draft's request stays without what stations 4 to 6 add.
        request.allHTTPHeaderFields = draft.request.allHTTPHeaderFields
        draft.request = request
    }
}
