package import Foundation
public import FoundationNetworking
package import HTTPClient
package import HTTPTypes

/// Changes requests before they are sent, and decides whether they are sent again.
///
/// Write an interceptor to add headers that every request needs, such as Authorization. Interceptors do not send requests themselves. They
/// must not change the scheme, host or port of a request.
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
/// URL before adding a header that not every host may see. A server chose the URL of a redirect: after one to another origin, the session
/// undoes what the interceptor did to the headers that it declares as secret (``secretHeaders``), also if a later redirect leads back.
public protocol RequestInterceptor: Sendable {
    /// How the session's gate treats the next request that this interceptor adapts; `none` by default.
    ///
    /// Asked before each ``adapt(_:)``, of a session with a ``RequestGate`` only. Must not block.
    var gateBehavior: GateBehavior { get }

    /// The names of the headers with secret values that the interceptor adds; none by default.
    ///
    /// Logs and observers never show these headers, and after a redirect to another origin the session undoes what the interceptor did to
    /// them, whatever host it leads to. Do not declare a header that the interceptor sets for that host on purpose. An interceptor that calls
    /// another one returns that one's names, too. Read when the session is made; letter case does not count.
    var secretHeaders: Set<String> { get }

    /// The user whose credential the interceptor adds; nil, the default, if it does not tell of changes.
    ///
    /// The session then tracks its requests, and a change of the user wipes it. An interceptor that calls another one returns that one's.
    /// Read once, when the session is made.
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

/// An interceptor that only adds a credential, in one header that requests may have already.
///
/// The session adds it to the header fields themselves, because Foundation takes longer to copy a request than the session for the rest. It
/// does not ask for it after a redirect to another origin.
package protocol CredentialInterceptor: RequestInterceptor {
    /// The name of the header that carries the credential.
    var fieldName: HTTPField.Name { get }

    /// Returns the credential for a request without one; called in place of ``RequestInterceptor/adapt(_:)``.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The header's value; nil if the URL's host gets none.
    /// - Throws: What ``RequestInterceptor/adapt(_:)`` throws.
    func fieldValue(for url: TransportURL) async throws -> String?

    /// Does the same without waiting, if that is possible; called first.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The header's value, or that the session must wait for it.
    /// - Throws: What ``RequestInterceptor/adapt(_:)`` throws.
    func fieldValueAtOnce(for url: TransportURL) throws -> ImmediateFieldValue

    /// Whether an outcome refuses the credential, so that the interceptor must decide about another attempt, which may wait.
    func isRefused(_ exchange: RequestExchange) -> Bool
}

/// The value of a header that an interceptor adds, or that it is not known yet.
package enum ImmediateFieldValue: Sendable {
    /// The value; nil if the request gets none.
    case known(String?)
    /// The session must wait for the value.
    case awaited
}

/// An interceptor that never waits: it only adds to requests, and decides at once.
///
/// The session adds to the header fields themselves, because Foundation takes longer to copy a request than the session for the rest. After a
/// redirect to another origin it adds no header that may be a secret.
package protocol AddingInterceptor: RequestInterceptor {
    /// What a request gets; called in place of ``RequestInterceptor/adapt(_:)``.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The additions; nil for none.
    func additions(for url: URL) -> RequestAdditions?
}

/// What an interceptor adds to a request.
package struct RequestAdditions: Sendable {
    /// The headers, by name; one that the request has already is not replaced.
    package var headers: [String: String]
    /// The idle timeout of a request without one; nil for none.
    package var timeout: Duration?

    package init(headers: [String: String], timeout: Duration? = nil) {
        self.headers = headers
        self.timeout = timeout
    }
}

extension [any RequestInterceptor] {
    /// Whether the interceptors wait for credentials at most, so that a wipe can end each of their waits.
    var waitForCredentialsAtMost: Bool { allSatisfy { $0 is any AddingInterceptor || $0 is any CredentialInterceptor } }
}

extension RequestInterceptor {
    /// `none`.
    public var gateBehavior: GateBehavior { .none }

    /// No names.
    public var secretHeaders: Set<String> { [] }

    /// Nil.
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

/// The outcome of sending a request once.
public enum RequestOutcome: Sendable {
    /// A response arrived; this is its head.
    case response(HTTPURLResponse)
    /// No response arrived.
    case failure(any Error)
}

/// How a session's gate treats a request while an interceptor adapts it.
public enum GateBehavior: Sendable, Hashable {
    /// Other requests go on.
    case none
    /// The session waits for the requests under way, and holds others, before it calls ``RequestInterceptor/adapt(_:)``; that is the work of
    /// a ``RequestGate/barrier(waiting:limit:_:)``.
    ///
    /// Return it only while it is needed, for example while a token has expired: each time, all requests of the gate wait for each other.
    /// The session asks again when nothing is under way; a request that needs the barrier no longer is then adapted without one. The waiting
    /// counts against the request's total timeout.
    case awaitsOutgoing
}

/// The decision whether to send a request again.
public enum RetryDecision: Sendable, Hashable {
    /// The caller gets the outcome.
    case doNotRetry
    /// The session sends the request again at once.
    case retry
    /// The session sends the request again after this delay, at most one minute.
    case retryAfter(Duration)
}
