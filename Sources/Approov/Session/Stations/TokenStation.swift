import Attestation
import HTTPClient
import HTTPTypes

/// Station 4: sets the token of a request to a host that gets tokens.
struct TokenStation: Sendable {
    /// Nil without a service; no request then gets a token.
    let authorizer: TokenAuthorizer?
    private let service: ApproovService?
    /// Whether the session's defaults contain a header that tokens are bound to.
    private let isBoundByDefault: Bool

    init(_ authorizer: TokenAuthorizer?, service: ApproovService?, defaults: SessionDefaults) {
        self.authorizer = authorizer
        self.service = service
        isBoundByDefault = authorizer?.names.isBound(defaults.fields) ?? false
    }

    /// Sets the token, bound to the request in its present form.
    ///
    /// - Parameters:
    ///   - draft: The request; on return, with its token.
    ///   - step: The request as stations 2 and 3 got it.
    ///   - hop: The rules for its host.
    ///   - deadline: The end of the time for the request.
    ///   - flight: The request that may be wiped; nil if it cannot be.
    /// - Throws: ``ApproovError`` when the request has no binding, or no token can be obtained; `CancellationError` when the task is
    ///   cancelled.
    func authorize(
        _ draft: inout RequestDraft, of step: RedirectStep, under hop: ResolvedHop, by deadline: RequestDeadline,
        _ flight: RequestFlight? = nil
    ) async throws {
        if let rule = hop.rule, let authorizer {
            let idleTimeout = draft.idleTimeout
            // The closure for the binding sees the body that is sent.
            let request = authorizer.computesBinding ? draft.timedRequest.showing(draft.body) : draft.timedRequest
            draft.token = try await authorizer.authorize(
                &draft.fields, of: request, to: draft.url, rule: rule,
                // Wait for the authority no longer than for the host itself.
                timeout: { min(try deadline.remaining, idleTimeout) },
                hasLostBinding: hasLostBinding(draft, step), flight: flight, life: deadline.life)
        }
        if hop.rule?.settings.attested != true { service?.keepConfigurationFresh() }
    }

    /// Sets a token from the cache, or none, if that needs no wait; does the same as ``authorize(_:of:under:by:_:)`` then.
    ///
    /// - Parameters:
    ///   - draft: The request; on return, with its token.
    ///   - step: The request as stations 2 and 3 got it.
    ///   - hop: The rules for its host.
    /// - Returns: Whether that is done; if not, the draft is unchanged.
    /// - Throws: ``ApproovError`` when the request has no binding.
    func authorizeFromCache(_ draft: inout RequestDraft, of step: RedirectStep, under hop: ResolvedHop) throws -> Bool {
        guard let rule = hop.rule, rule.settings.attested else {
            // There is no token to wait for.
            service?.keepConfigurationFresh()
            return true
        }
        guard let authorizer else { return true }
        guard
            let outcome = try authorizer.authorizeFromCache(
                &draft.fields, of: draft.request, to: draft.url, rule: rule, hasLostBinding: hasLostBinding(draft, step))
        else { return false }
        draft.token = outcome
        return true
    }

    /// Returns the uptime from which a token is no longer sent.
    ///
    /// - Parameter outcome: What this station did to the request.
    /// - Returns: The uptime; nil without a token, or if the token was too old when it arrived, because a further token would be no newer.
    func endOfUse(of outcome: TokenOutcome) -> Duration? {
        outcome.attached?.endOfUse
    }

    /// Whether an uptime has passed; false for nil.
    func isPast(_ end: Duration?) -> Bool {
        guard let service, let end else { return false }
        return service.time.uptime >= end
    }

    private func hasLostBinding(_ draft: RequestDraft, _ step: RedirectStep) -> Bool {
        step.hasLostBinding || draft.hasLostCredential || step.hasLeftOrigin && isBoundByDefault
    }

    /// Whether the fields contain a token.
    func hasToken(_ fields: HTTPFields) -> Bool { authorizer?.names.hasToken(fields) ?? false }

    /// Forgets the token of a request if its host rejected it, within the limits of ``TokenRenewalState``.
    ///
    /// A host rejects a token with 401 and the challenge "Approov" alone. Another challenge beside it may mean other credentials.
    ///
    /// - Parameters:
    ///   - sent: The request with its response.
    ///   - step: The step that was sent.
    /// - Returns: Whether to take the step through the stations again, with another token.
    func renewIfRejected(after sent: SentRequest, from step: RedirectStep) -> Bool {
        guard let service, let token = sent.token, Self.isRejection(sent.response) else { return false }
        // The token is forgotten even if this request cannot be sent again: the next one then gets another. The API refused the request
        // before it did anything, so every method may be sent again.
        return service.renew(token) && sent.canBeSentAgain && step.body.canBeSentAgain
    }

    /// Notes that a host accepts a token, in case it has rejected the previous one.
    func noteAnswer(to sent: SentRequest) {
        guard let service, let token = sent.token, !Self.isRejection(sent.response) else { return }
        service.noteAccepted(token)
    }

    private static func isRejection(_ response: TransportResponse) -> Bool {
        guard response.status == 401 else { return false }
        let challenges = response.headerFields[values: .wwwAuthenticate]
        return challenges.count == 1 && challenges[0].lowercased() == "approov"
    }
}
