public import FoundationNetworking

/// Changes requests before they are sent, and decides whether failed ones are sent again.
///
/// Write one to add what every request needs, such as an Authorization header. Interceptors never do the sending. Host and port of a
/// request must stay what they were.
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
/// An interceptor is called again for every redirect and every retry, with the request as the caller made it and the URL of that hop:
/// look at the URL before adding what is not meant for everybody.
public protocol RequestInterceptor: Sendable {
    /// Returns the request to send in place of `request`.
    ///
    /// - Throws: Whatever keeps the request from being sent; it reaches the caller as the cause of an ``ApproovError``.
    func adapt(_ request: URLRequest) async throws -> URLRequest

    /// Says whether a request is sent again.
    ///
    /// Called after a failure and after every response; the first interceptor that does not answer ``RetryDecision/doNotRetry`` decides.
    /// A request whose body is a stream is never sent again.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: How it ended.
    ///   - attempt: How often it has been sent, 1 at first.
    /// - Returns: The decision.
    func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision
}

extension RequestInterceptor {
    /// The request as it is.
    public func adapt(_ request: URLRequest) async throws -> URLRequest { request }

    /// Never again.
    public func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision { .doNotRetry }
}

/// How one sending of a request ended.
public enum RequestOutcome: Sendable {
    /// A response came; its body has not been read.
    case response(HTTPURLResponse)
    /// No response came.
    case failure(any Error)
}

/// Whether a request is sent again.
public enum RetryDecision: Sendable, Hashable {
    /// The outcome goes to the caller.
    case doNotRetry
    /// At once.
    case retry
    /// After a while, at most a minute.
    case retryAfter(Duration)
}
