public import ApproovBase
public import Foundation
public import FoundationNetworking
public import HTTPClient
public import Tracing

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
    /// The validators, which decide in this order whether a response is a success; none by default.
    public var validators: [any ResponseValidating] = []
    /// Header fields that the session adds to each request; none by default.
    public var perRequestHeaders: PerRequestHeaders?
    /// The observers, which see what the session sends and receives, without values; none by default.
    public var observers: [any SessionObserver] = []
    /// The paths whose segments observers and spans must not see, such as "/reset/*" or, for all segments that follow, "/files/**".
    ///
    /// A rule applies to every path that begins with it; `*` stands for one segment. Empty by default.
    public var maskedPaths: [String] = []
    /// The session's metrics; none by default.
    public var metrics: ClientMetrics?
    /// Makes a client span for each call; nil, the default, for none.
    ///
    /// A span has the attributes of OpenTelemetry's conventions for HTTP clients, with no value of a query, `approov.attested` and
    /// `approov.oblivious`. The tracer writes its context into the header fields of a request, for example as `traceparent`, unless the
    /// request goes over Oblivious HTTP or, after a redirect, to another origin. `InstrumentationSystem.tracer` is the app's own tracer.
    public var tracer: (any Tracer)?
    /// The name of the header whose value tokens are bound to, such as Authorization; nil, the default, for unbound tokens.
    ///
    /// The only element of ``bindHeaders``; nil if there are several. Setting it replaces them all.
    public var bindHeader: String? {
        get { bindHeaders.count == 1 ? bindHeaders[0] : nil }
        set { bindHeaders = newValue.map { [$0] } ?? [] }
    }
    /// The names of the headers whose values tokens are bound to; empty by default.
    ///
    /// A token is bound to the values in this order, each without leading and trailing spaces and tabs, joined without a separator: "a" and
    /// "bc" are the same binding as "ab" and "c". The backend must name the same headers in the same order (`bindingHeaders:` of its token
    /// check). A request needs every one of them, once and not empty.
    public var bindHeaders: [String] = []
    /// Computes the data that a request's token is bound to; nil, the default, to bind tokens to headers.
    ///
    /// The closure gets the request as it is sent, without its token, and before the ``policy`` prepares it; a body from memory is in
    /// `httpBody`, and a file or a stream is not. If the closure returns nil or
    /// only spaces and tabs, ``unboundRequests`` decides about the request. An error that it throws prevents the request. The backend must
    /// compute the same data itself, and compare its hash with the token's claim `pay`. The closure must not keep or log what it sees.
    public var binding: (@Sendable (URLRequest) async throws -> String?)?
    /// The credential of the app's user, which the session adds to requests to some hosts; nil, the default, for none.
    ///
    /// Without a user, requests to these hosts fail with ``ApproovError/Code/credentialMissing`` unless ``unboundRequests`` exempts them. An
    /// exempt request keeps its own header of the same name; in all others the credential replaces it. Interceptors see the credential.
    public var credential: SessionCredential?
    /// Whether the session tracks its requests, so that ``ApproovSession/wipe(_:)`` can cancel those in flight; false by default.
    ///
    /// A session with a ``credential``, or with an interceptor that has a ``RequestInterceptor/userScope``, always tracks them. If you give
    /// such an interceptor only to copies of a session (``ApproovSession/adding(interceptors:validators:)``), and the session itself also
    /// sends requests for the user, set this to true. Otherwise a response to an untracked request may store the user's cookies after a
    /// wipe.
    public var tracksRequests = false
    /// The headers that carry the token and the trace ID; by default Approov-Token and Approov-TraceID.
    public var tokenHeader = TokenHeader()
    /// Whether a request to a protected host may lack a binding header; by default such a request is refused.
    public var unboundRequests = UnboundRequests.refused
    /// Returns true for URLs that get no token although their host does; the host stays pinned.
    ///
    /// Nil, the default, excludes no URL. The closure must not block.
    public var excluding: (@Sendable (URL) -> Bool)?
    /// Patterns of further URLs that get no token although their host does; empty by default.
    ///
    /// The host stays pinned.
    public var excludedURLs: [URLGlob] = []
    /// Where the session puts secure strings in the place of placeholders; nowhere by default.
    public var substitutions: [Substitution] = []
    /// The app's decisions about attestation; nil, the default, for those of ``StandardPolicy``.
    public var policy: (any AttestationPolicy)?
    /// Whether requests are sent without a token while the authority cannot be reached or does not work, so that the API decides.
    ///
    /// If false, the default, they fail with a retryable error. A session with a ``policy`` does not use this setting: decide there.
    public var sendsWithoutTokenWhenAuthorityIsDown = false
    /// Whether every request gets a limited-use token, which an API that consumes tokens accepts once; false by default.
    ///
    /// Each attempt to send a request attests: such tokens are never cached, prefetched or refreshed in the background. Make a
    /// separate session for the few requests that must not be replayed.
    public var limitedUse = false
    /// How requests that carry a token are signed (RFC 9421); nil, the default, to sign none.
    ///
    /// A session that signs sends no token to an oblivious host, because a signature names the installation: it refuses such requests.
    public var signing: MessageSigning?
    /// Whether the session fetches tokens at once; false by default.
    ///
    /// It binds them to the values of the binding headers among the wrapped session's additional headers, or to nothing when
    /// ``bindHeaders`` is empty. If a value is missing, or ``binding`` or ``limitedUse`` is set, the session only prepares the connection,
    /// the configuration and a challenge; call ``ApproovSession/prefetch(for:binding:)`` to fetch the token.
    public var prefetchToken = false
    /// The relay and gateway for hosts that the configuration does not name; nil, the default, to call those hosts directly.
    ///
    /// For the hosts that the configuration names, the configuration decides.
    public var obliviousRoute: ObliviousRoute?
    /// Whether the session refuses every request that would not go over Oblivious HTTP (RFC 9458); false by default.
    ///
    /// Requests for file URLs, and requests that a protocol class of the wrapped session claims, are exempt.
    public var allRequestsMustBeOblivious = false
    /// The hosts that the session may call; nil, the default, for all.
    public var allowedHosts: AllowedHosts?
    /// The maximum number of redirects to follow, 20 by default; with 0 or less the caller gets the redirect itself as the response.
    public var maximumRedirects = 20
    /// The gate at which requests wait while the app holds them; nil, the default, for none.
    ///
    /// Several sessions may share one.
    public var gate: RequestGate?
    /// The transport that sends requests; nil, the default, for the service's transport, or a new `CurlTransport` without a service.
    ///
    /// A session with a service refuses a `TestOnlyTransport`, such as one that replays recordings.
    public var transport: (any HTTPTransport)?
    /// The clock; nil, the default, for the service's clock, or the system's clock without a service.
    public var clock: (any TimeSource)?

    /// Makes the default configuration.
    public init() {}
}
