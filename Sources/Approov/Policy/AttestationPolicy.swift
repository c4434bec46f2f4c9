public import FoundationNetworking

/// The app's decisions about attestation: which requests get a token, and what becomes of a request without one.
///
/// Every function has a default that behaves as a session without a policy. To change one decision, write one function:
///
/// ```swift
/// struct LenientPolicy: AttestationPolicy {
///     func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
///         switch result.status {
///         case .noNetwork, .poorNetwork: .sendWithout(status: true)
///         default: try await StandardPolicy().decide(result, for: request)
///         }
///     }
/// }
/// ```
///
/// A policy cannot switch pins off, and no request leaves without a token because the authority's server was not trusted
/// (``TokenFetchStatus/mitmDetected``). To combine policies, let one hold the other and call it.
///
/// An ``ApproovError`` or a `CancellationError` that a policy throws reaches the caller of the request unchanged. Any other error becomes the
/// cause of an ``ApproovError`` with code `interceptorError`.
public protocol AttestationPolicy: Sendable {
    /// Decides whether a request to a host that gets tokens gets one; by default it does.
    ///
    /// The host stays pinned in any case. The session does not ask for requests that its configuration excludes.
    ///
    /// - Parameter request: The final request, before its token is added.
    /// - Returns: Whether the request gets a token.
    /// - Throws: Any error that prevents the request.
    func shouldAttest(_ request: URLRequest) async throws -> Bool

    /// Decides about a request for which a token was asked; called for every status, even for a token from the cache.
    ///
    /// - Parameters:
    ///   - result: The token, or the reason why it is missing.
    ///   - request: The final request, before its token is added.
    /// - Returns: The decision; by default that of ``StandardPolicy``.
    /// - Throws: Any error that prevents the request.
    func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision

    /// Decides about a secure string that was asked for.
    ///
    /// In a request, `attach` puts the string in place of its placeholder, and `sendWithout` leaves the placeholder, or puts the status in
    /// its place. Outside of a request, `attach` and `sendWithout` return the string or nil.
    ///
    /// - Parameters:
    ///   - result: How the fetch ended.
    ///   - name: The key of the secure string.
    ///   - request: The request that contains the placeholder; nil outside of a request.
    /// - Returns: The decision. By default, a key that the account does not know is left as it is, and every other failure is an error.
    /// - Throws: Any error that prevents the request.
    func decide(_ result: TokenFetchResult, forSecureString name: String, in request: URLRequest?) async throws -> TokenDecision

    /// Decides about a custom JWT that was asked for: `attach` returns it, every other decision is an error.
    ///
    /// - Parameters:
    ///   - result: How the fetch ended.
    ///   - audience: The audience of the custom JWT.
    /// - Returns: The decision; by default `attach` for a success and `fail` otherwise.
    /// - Throws: Any error that the caller gets instead.
    func decide(_ result: TokenFetchResult, forCustomTokenTo audience: String) async throws -> TokenDecision

    /// Decides about the result of ``ApproovService/precheck(policy:)``: `fail` throws, `sendWithout` passes, and `attach` passes with a
    /// token.
    ///
    /// - Parameters:
    ///   - result: How the attestation ended.
    ///   - host: The host that the attestation was for.
    /// - Returns: The decision; by default `attach` for a success and `fail` otherwise.
    /// - Throws: Any error that the caller gets instead.
    func decide(_ result: TokenFetchResult, forPrecheckOf host: String) async throws -> TokenDecision

    /// Looks at a request before it is signed and sent, and may change it; by default it does not.
    ///
    /// The session calls this for each request to a host that gets tokens, unless it is excluded, and again for every redirect and retry.
    /// The policy must not change scheme, host, port, or a header that carries the token or its trace ID, or that tokens are bound to.
    ///
    /// - Parameters:
    ///   - request: The request as it is sent. It contains the token: do not log it.
    ///   - changes: The names of the parts that the session has added or replaced.
    /// - Returns: The request to send.
    /// - Throws: Any error that prevents the request.
    func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest
}

extension AttestationPolicy {
    /// Returns true.
    ///
    /// - Throws: Nothing.
    public func shouldAttest(_ request: URLRequest) async throws -> Bool { true }

    /// Returns the decision of ``StandardPolicy``.
    ///
    /// - Parameters:
    ///   - result: The token, or the reason why it is missing.
    ///   - request: The final request, before its token is added.
    /// - Returns: The decision.
    /// - Throws: Nothing.
    public func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        TokenDecision(forToken: result.status, isLenient: false)
    }

    /// Returns `attach` for a success, `sendWithout` without the status for an unknown key, and `fail` otherwise.
    ///
    /// - Parameters:
    ///   - result: How the fetch ended.
    ///   - name: The key of the secure string.
    ///   - request: The request that contains the placeholder; nil outside of a request.
    /// - Returns: The decision.
    /// - Throws: Nothing.
    public func decide(
        _ result: TokenFetchResult, forSecureString name: String, in request: URLRequest?
    ) async throws -> TokenDecision {
        result.status == .unknownKey ? .sendWithout(status: false) : TokenDecision(forValue: result.status)
    }

    /// Returns `attach` for a success and `fail` otherwise.
    ///
    /// - Parameters:
    ///   - result: How the fetch ended.
    ///   - audience: The audience of the custom JWT.
    /// - Returns: The decision.
    /// - Throws: Nothing.
    public func decide(_ result: TokenFetchResult, forCustomTokenTo audience: String) async throws -> TokenDecision {
        TokenDecision(forValue: result.status)
    }

    /// Returns `attach` for a success and `fail` otherwise.
    ///
    /// - Parameters:
    ///   - result: How the attestation ended.
    ///   - host: The host that the attestation was for.
    /// - Returns: The decision.
    /// - Throws: Nothing.
    public func decide(_ result: TokenFetchResult, forPrecheckOf host: String) async throws -> TokenDecision {
        TokenDecision(forValue: result.status)
    }

    /// Returns the request unchanged.
    ///
    /// - Parameters:
    ///   - request: The request as it is sent.
    ///   - changes: The names of the parts that the session has added or replaced.
    /// - Returns: The request.
    /// - Throws: Nothing.
    public func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest { request }
}
