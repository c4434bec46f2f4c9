public import ApproovBase
public import Foundation
public import HTTPClient

/// The settings of an ``ApproovSession``, each with a default.
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.bindHeader = "Authorization"
/// configuration.maximumRedirects = 5
/// let session = try ApproovSession(service: service, configuration: configuration)
/// ```
///
/// A session reads its configuration once, when it is made.
public struct ApproovSessionConfiguration: Sendable {
    /// The caller's interceptors, called in this order before the session asks for a token; none by default.
    public var interceptors: [any RequestInterceptor] = []
    /// The name of the header whose value tokens are bound to, such as Authorization; nil, the default, for unbound tokens.
    public var bindHeader: String?
    /// The headers that carry the token and the trace ID; by default Approov-Token and Approov-TraceID.
    public var tokenHeader = TokenHeader()
    /// Whether a request to a protected host may lack the binding header; by default such a request is refused.
    public var unboundRequests = UnboundRequests.refused
    /// Returns true for URLs that get no token although their host does; the host stays pinned.
    ///
    /// Nil, the default, excludes no URL. The closure must not block.
    public var excluding: (@Sendable (URL) -> Bool)?
    /// Whether requests are sent without a token while the authority cannot be reached or does not work, so that the API decides.
    ///
    /// If false, the default, they fail with a retryable error.
    public var sendsWithoutTokenWhenAuthorityIsDown = false
    /// Whether the session fetches tokens at once; false by default.
    ///
    /// It binds them to the value of the binding header among the wrapped session's additional headers, or to nothing when ``bindHeader``
    /// is nil. If that value is missing, the session only prepares the connection, the configuration and a challenge; call
    /// ``ApproovSession/prefetch(for:binding:)`` to fetch the token.
    public var prefetchToken = false
    /// The relay and gateway for hosts that the configuration does not name; nil, the default, to call those hosts direct.
    ///
    /// For the hosts that the configuration names, the configuration decides.
    public var obliviousRoute: ObliviousRoute?
    /// Whether the session refuses every request that would not go over Oblivious HTTP (RFC 9458); false by default.
    ///
    /// Requests for file URLs, and requests that a protocol class of the wrapped session claims, are exempt.
    public var allRequestsMustBeOblivious = false
    /// The maximum number of redirects to follow, 20 by default; with 0 or less the caller gets the redirect itself as the response.
    public var maximumRedirects = 20
    /// The transport that sends requests; nil, the default, for the service's transport, or a new `CurlTransport` without a service.
    public var transport: (any HTTPTransport)?
    /// The clock; nil, the default, for the service's clock, or the system's clock without a service.
    public var clock: (any TimeSource)?

    /// Makes the default configuration.
    public init() {}
}
