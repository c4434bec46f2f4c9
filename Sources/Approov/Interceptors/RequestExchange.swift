package import Foundation
public import FoundationNetworking
import HTTPTypes

/// One attempt to send a request, with its outcome, as an interceptor judges it.
public struct RequestExchange: Sendable {
    /// The request as the caller made it, with the session's per-request headers of the call.
    public var request: URLRequest { bare.adding(perRequestFields) }
    /// The URL of ``request``, which need not be made for it.
    package var url: URL? { bare.url }
    private let bare: URLRequest
    private let perRequestFields: HTTPFields
    /// The request as the interceptors left it for the attempt, or for its last redirect, with the session's own header fields; nil if no
    /// response arrived.
    ///
    /// A response that a validator refused has arrived.
    public var sent: URLRequest? { makeSent() }
    // Foundation takes a while to make a request, and most interceptors look at the response alone.
    private let makeSent: @Sendable () -> URLRequest?
    /// Whether the request can be sent again without the server executing it twice: the caller's method and that of what was sent count.
    var isIdempotent: Bool { makeIdempotent() }
    private let makeIdempotent: @Sendable () -> Bool
    /// Whether the server has probably executed a request of this attempt that is not idempotent, and redirected to its result.
    ///
    /// A refusal at the end of the redirect does not mean that nothing was done.
    let isAfterExecution: Bool
    /// The response or the failure.
    public let outcome: RequestOutcome
    /// The number of times the request has been sent, starting with 1.
    public let attempt: Int
    /// How often this interceptor has had the request sent again.
    public internal(set) var ownRetries: Int
    /// Whether a redirect led the attempt away from the origin (scheme, host and port) of the caller's request.
    public let hasLeftOrigin: Bool

    /// Describes an attempt; the session makes these, and tests of interceptors do.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - sent: The request as the interceptors left it; nil if no response arrived.
    ///   - outcome: The response or the failure.
    ///   - attempt: The number of times the request has been sent, starting with 1.
    ///   - ownRetries: How often this interceptor has had the request sent again.
    ///   - hasLeftOrigin: Whether a redirect led the attempt to another origin.
    public init(
        request: URLRequest, sent: URLRequest?, outcome: RequestOutcome, attempt: Int = 1, ownRetries: Int = 0, hasLeftOrigin: Bool = false
    ) {
        self.init(
            request: request, perRequestFields: HTTPFields(), sent: { sent }, outcome: outcome, attempt: attempt, ownRetries: ownRetries,
            hasLeftOrigin: hasLeftOrigin, isAfterExecution: false, isIdempotent: { request.isIdempotent && sent?.isIdempotent != false })
    }

    init(
        request: URLRequest, perRequestFields: HTTPFields, sent: @escaping @Sendable () -> URLRequest?, outcome: RequestOutcome,
        attempt: Int, ownRetries: Int, hasLeftOrigin: Bool, isAfterExecution: Bool, isIdempotent: @escaping @Sendable () -> Bool
    ) {
        bare = request
        self.perRequestFields = perRequestFields
        makeSent = sent
        makeIdempotent = isIdempotent
        self.outcome = outcome
        self.attempt = attempt
        self.ownRetries = ownRetries
        self.hasLeftOrigin = hasLeftOrigin
        self.isAfterExecution = isAfterExecution
    }
}
