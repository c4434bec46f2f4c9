/// What a policy decides about the result of a fetch.
public enum TokenDecision: Sendable, Hashable {
    /// The value goes with the request, or to the caller.
    ///
    /// If the result has no value, this is an error.
    case attach
    /// The request is sent without the value; with `status`, the name of the status takes the value's place.
    ///
    /// After ``TokenFetchStatus/mitmDetected`` this counts as `fail`.
    case sendWithout(status: Bool)
    /// The request is not sent, and the caller gets an error that tells the status.
    case fail

    /// The decision about a request's token without a policy.
    ///
    /// - Parameters:
    ///   - status: How the fetch ended.
    ///   - isLenient: Whether requests are sent without a token while the authority is down.
    init(forToken status: TokenFetchStatus, isLenient: Bool) {
        self =
            switch status {
            case .success: .attach
            case .unknownURL, .unprotectedURL: .sendWithout(status: false)
            case .noNetwork, .poorNetwork, .noApproovService: isLenient ? .sendWithout(status: false) : .fail
            case .mitmDetected, .badURL, .notInitialized, .rejected, .disabled, .unknownKey, .badKey, .badPayload, .internalError: .fail
            }
    }

    /// Returns whether a request is sent with the status in place of a value, and nil if it is sent with the value.
    ///
    /// - Parameters:
    ///   - result: The result that the decision is about.
    ///   - hasValue: Whether there is a value to attach; nil if the value is the result's token.
    /// - Returns: Nil for `attach`.
    /// - Throws: The result's error for `fail`, and for `sendWithout` after `mitmDetected`: otherwise an attacker could take the token off a
    ///   request. ``ApproovError`` with code `interceptorError` for `attach` without a value.
    func sendsWithout(_ result: TokenFetchResult, hasValue: Bool? = nil) throws(ApproovError) -> Bool? {
        switch self {
        case .attach where !(hasValue ?? !result.token.isEmpty):
            throw ApproovError(
                .interceptorError,
                "the policy returned attach, but there is no value to attach (\(result.status.rawValue)): return fail or sendWithout",
                cause: result.refusal)
        case .attach: return nil
        case .sendWithout(let status) where result.status != .mitmDetected: return status
        case .sendWithout, .fail: throw result.refusal
        }
    }

    /// The decision about a value that the caller cannot do without.
    init(forValue status: TokenFetchStatus) { self = status == .success ? .attach : .fail }
}
