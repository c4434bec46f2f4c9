public import ApproovBase
package import Foundation
public import FoundationNetworking

/// Sends a request again when that may help and cannot make the server execute it twice.
///
/// ```swift
/// configuration.interceptors = [RetryPolicy()]
/// ```
///
/// - A network failure is retried if nothing of the request was sent, or if its method is idempotent (RFC 9110, section 9.2.2); see
///   ``ApproovError/isRetryable``.
/// - A response with one of the ``statuses`` is retried if the method is idempotent, even if a validator refused the response. Other
///   methods are not retried: the server has already received the request.
/// - The delay doubles with each attempt, and is random between one half of it and all of it. A server that sends Retry-After
///   (RFC 9110, section 10.2.3) decides about the delay; if it asks for more than ``longestDelay``, the caller gets the response.
///
/// Interceptors can have a request sent again at most eight times, never a request whose body is a stream, and not after the session's
/// `timeoutIntervalForResource`.
public struct RetryPolicy: AddingInterceptor {
    /// The maximum number of times that a request is sent again; 2 by default.
    public var limit: Int
    /// The delay before the first retry; 500 ms by default.
    public var firstDelay: Duration = .milliseconds(500)
    /// The longest delay, at most one minute; 20 s by default.
    public var longestDelay: Duration = .seconds(20)
    /// The statuses that are retried; by default 408, 429, 502, 503 and 504.
    public var statuses: Set<Int> = [408, 429, 502, 503, 504]
    /// Whether a request with the header Idempotency-Key counts as idempotent, whatever its method is; false by default.
    ///
    /// Set it only if the servers promise to execute requests with the same key once. The key must be the same for all attempts: set it in
    /// the request, or with ``PerRequestHeaders`` once for each call. It does not count where a redirect led to another origin, whose server
    /// did not get the key. No interceptor may change it: the policy notices a change only if a response came.
    public var trustsIdempotencyKey = false
    private let clock: any TimeSource
    private let jitter: @Sendable () -> Double

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of times that a request is sent again.
    ///   - clock: The clock for a Retry-After that is a date.
    public init(limit: Int = 2, clock: any TimeSource = SystemTimeSource()) {
        self.init(limit: limit, clock: clock, jitter: { .random(in: 0...1) })
    }

    init(limit: Int, clock: any TimeSource, jitter: @escaping @Sendable () -> Double) {
        self.limit = limit
        self.clock = clock
        self.jitter = jitter
    }

    package func additions(for url: URL) -> RequestAdditions? { nil }

    /// Decides whether to send a request again.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: The response or the failure.
    ///   - attempt: The number of times the request has been sent, starting with 1.
    /// - Returns: The decision.
    public func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
        retryAtOnce(RequestExchange(request: request, sent: nil, outcome: outcome, attempt: attempt))
    }

    private func decision(about exchange: RequestExchange) -> RetryDecision {
        let (outcome, attempt) = (exchange.outcome, exchange.attempt)
        guard attempt <= limit else { return .doNotRetry }
        let longest = min(longestDelay, ResponseStation.longestRetryDelay)
        guard let head = outcome.head else {
            return mayBeRepeated(exchange) ? .retryAfter(delay(before: attempt, longest: longest)) : .doNotRetry
        }
        guard statuses.contains(head.statusCode), exchange.isIdempotent || hasTrustedKey(exchange) else { return .doNotRetry }
        let asked = head.value(forHTTPHeaderField: "Retry-After").flatMap { RetryAfter.duration($0, now: clock.date) }
        guard let asked else { return .retryAfter(delay(before: attempt, longest: longest)) }
        guard asked <= longest else { return .doNotRetry }
        // Later by a random time, so that the clients of a server do not come back at once.
        return .retryAfter(asked + firstDelay * jitter())
    }

    /// Decides whether to send a request again; see ``retry(_:after:attempt:)``.
    ///
    /// - Parameter exchange: The attempt and its outcome.
    /// - Returns: The decision.
    public func retry(_ exchange: RequestExchange) async -> RetryDecision { retryAtOnce(exchange) }

    package func retryAtOnce(_ exchange: RequestExchange) -> RetryDecision {
        // Most responses are final, and then the request need not be made.
        if let head = exchange.outcome.head, !statuses.contains(head.statusCode) { return .doNotRetry }
        return decision(about: exchange)
    }

    private func mayBeRepeated(_ exchange: RequestExchange) -> Bool {
        guard case .failure(let error as ApproovError) = exchange.outcome else { return false }
        return error.isRetryable || [.networkingError, .timedOut].contains(error.code) && hasTrustedKey(exchange)
    }

    /// Whether the server of the attempt has got the key of the caller's request, and will get it again.
    private func hasTrustedKey(_ exchange: RequestExchange) -> Bool {
        guard trustsIdempotencyKey, !exchange.hasLeftOrigin, let key = Self.key(of: exchange.request), !key.isEmpty else { return false }
        return exchange.sent.map { Self.key(of: $0) == key } ?? true
    }

    private static func key(of request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Idempotency-Key") }

    private func delay(before attempt: Int, longest: Duration) -> Duration {
        min(longest, firstDelay * Double(1 << min(max(attempt - 1, 0), 16))) * (0.5 + jitter() / 2)
    }
}
