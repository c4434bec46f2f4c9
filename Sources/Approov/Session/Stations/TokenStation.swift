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
    /// - Throws: ``ApproovError`` when the request has no binding, or no token can be obtained; `CancellationError` when the task is
    ///   cancelled.
    func authorize(_ draft: inout RequestDraft, of step: RedirectStep, under hop: ResolvedHop, by deadline: RequestDeadline) async throws {
        if let rule = hop.rule, let authorizer {
            let idleTimeout = draft.options.idleTimeout
            _ = try await authorizer.authorize(
                &draft.fields, of: draft.request, to: step.url.host, rule: rule,
                // Wait for the authority no longer than for the host itself.
                timeout: { min(try deadline.remaining, idleTimeout) },
                hasLostBinding: step.hasLostBinding || step.hasLeftOrigin && isBoundByDefault)
        }
        if hop.rule?.settings.attested != true { service?.keepConfigurationFresh() }
    }

    /// Whether the fields contain a token.
    func hasToken(_ fields: HTTPFields) -> Bool { authorizer?.names.hasToken(fields) ?? false }
}
