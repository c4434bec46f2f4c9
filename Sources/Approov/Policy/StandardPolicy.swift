public import FoundationNetworking

/// The policy that behaves as a session without one.
///
/// To decide about some statuses only, let your policy hold this one, and call it for the others.
public struct StandardPolicy: AttestationPolicy {
    /// Whether requests are sent without a token while the authority cannot be reached or does not work, so that the API decides.
    public var sendsWithoutTokenWhenAuthorityIsDown: Bool

    /// Makes the policy.
    ///
    /// - Parameter sendsWithoutTokenWhenAuthorityIsDown: Whether requests are sent without a token while the authority cannot be reached or
    ///   does not work.
    public init(sendsWithoutTokenWhenAuthorityIsDown: Bool = false) {
        self.sendsWithoutTokenWhenAuthorityIsDown = sendsWithoutTokenWhenAuthorityIsDown
    }

    /// Decides by the status.
    ///
    /// - `success`: the token is attached.
    /// - `unknownURL` and `unprotectedURL`: the request goes without a token.
    /// - `noNetwork`, `poorNetwork` and `noApproovService`: the request fails with a retryable error, or goes without a token if
    ///   ``sendsWithoutTokenWhenAuthorityIsDown`` is true.
    /// - Every other status: the request fails.
    ///
    /// - Parameters:
    ///   - result: The token, or the reason why it is missing.
    ///   - request: The request as it is sent, without its token.
    /// - Returns: The decision.
    /// - Throws: Nothing.
    public func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        TokenDecision(forToken: result.status, isLenient: sendsWithoutTokenWhenAuthorityIsDown)
    }
}
