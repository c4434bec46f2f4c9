public import FoundationNetworking

/// Changes requests before they are sent, and decides whether they are sent again.
///
/// Write an interceptor to add headers that every request needs, such as Authorization. Interceptors do not send requests themselves. They
/// must not change the scheme, host or port of a request. The session's timeouts do not end what an interceptor waits for: bound its waits.
///
/// ```swift
/// struct Authorizing: RequestInterceptor {
///     let credentials: Credentials
///     func adapt(_ request: URLRequest) async throws -> URLRequest {
///         guard request.url?.host() == "api.example.com" else { return request }
///         var request = request
///         request.setValue(try await credentials.bearer(), forHTTPHeaderField: "Authorization")
///         return request
///     }
/// }
/// ```
///
/// The session calls an interceptor again for every redirect and every retry, with the caller's request and the URL of that hop. Check the
/// URL before adding a header that not every host may see. After a redirect to another origin, the session undoes what the interceptor did
/// to its ``secretHeaders``, even if a later redirect leads back, because the URL came from a server.
public protocol RequestInterceptor: Sendable {
    /// How the session's gate treats the next request that this interceptor adapts; `none` by default.
    ///
    /// Asked before each ``adapt(_:)``, of a session with a ``RequestGate`` only. Must not block.
    var gateBehavior: GateBehavior { get }

    /// The names of the headers with secret values that the interceptor adds; none by default.
    ///
    /// Logs and observers never show these headers, and after a redirect to another origin the session undoes what the interceptor did to
    /// them, whatever host it leads to. Do not declare a header that the interceptor sets for that host on purpose. An interceptor that calls
    /// another interceptor must also return the other's names. Read when the session is made; letter case does not count.
    var secretHeaders: Set<String> { get }

    /// The user whose credential the interceptor adds; nil, the default, if it does not report changes.
    ///
    /// The session then tracks its requests, and a change of the user wipes it. An interceptor that calls another interceptor must return
    /// the other's user scope. Read once, when the session is made.
    var userScope: UserScope? { get }

    /// Returns the request to send in place of `request`.
    ///
    /// - Throws: Any error that prevents the request. The caller gets an ``ApproovError`` or a `CancellationError` unchanged, and any other
    ///   error as the cause of an ``ApproovError`` with code `interceptorError`.
    func adapt(_ request: URLRequest) async throws -> URLRequest

    /// Decides whether to send a request again.
    ///
    /// The session calls this after every failure and every response. The first interceptor that does not return
    /// ``RetryDecision/doNotRetry`` decides. A request whose body is a stream is never sent again.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: The response or the failure.
    ///   - attempt: The number of times the request has been sent, starting with 1.
    /// - Returns: The decision.
    func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision

    /// Decides whether to send a request again, knowing what was sent.
    ///
    /// The session calls this one. Its default calls ``retry(_:after:attempt:)``; write this one instead when the decision depends on the
    /// request that was sent, on redirects, or on earlier decisions.
    ///
    /// - Parameter exchange: The attempt and its outcome.
    /// - Returns: The decision.
    func retry(_ exchange: RequestExchange) async -> RetryDecision
}

extension [any RequestInterceptor] {
    /// Whether the interceptors wait for credentials at most, so that a wipe can end each of their waits.
    var waitForCredentialsAtMost: Bool { allSatisfy { $0 is any AddingInterceptor || $0 is any CredentialInterceptor } }
}

extension RequestInterceptor {
    /// By default, `none`: requests of this interceptor do not make the gate hold others.
    public var gateBehavior: GateBehavior { .none }

    /// By default, no names: the interceptor adds no headers with secret values.
    public var secretHeaders: Set<String> { [] }

    /// By default, nil: the interceptor does not report changes of the user.
    public var userScope: UserScope? { nil }

    /// Returns the request unchanged.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: URLRequest) async throws -> URLRequest { request }

    /// Returns ``RetryDecision/doNotRetry``.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: The response or the failure.
    ///   - attempt: The number of times the request has been sent, starting with 1.
    /// - Returns: ``RetryDecision/doNotRetry``.
    public func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision { .doNotRetry }

    /// Asks ``retry(_:after:attempt:)``.
    public func retry(_ exchange: RequestExchange) async -> RetryDecision {
        await retry(exchange.request, after: exchange.outcome, attempt: exchange.attempt)
    }
}
