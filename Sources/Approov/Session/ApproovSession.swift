public import ApproovBase
internal import Attestation
import CertificatePinning
public import Foundation
public import FoundationNetworking
public import HTTPClient

/// Takes the place of a URLSession: every request to a protected host carries an attestation token and goes only to a server that
/// satisfies the host's pins.
///
/// ```swift
/// let session = try ApproovSession(wrapping: .shared, service: service, bindHeader: "Authorization")
/// let (data, response) = try await session.data(for: request)
/// ```
///
/// **What the wrapped session's configuration still does:** additional headers (a request's own come first), `timeoutIntervalForRequest`
/// (how long nothing may happen; a request's own `timeoutInterval` comes first unless it is 60), `timeoutIntervalForResource` (with all
/// redirects), cookies (storage, `httpShouldSetCookies`, never accepting them), HTTP proxies of `connectionProxyDictionary`, and
/// `protocolClasses`: a request that one of them claims, as a mock does, goes to the wrapped session, unless its host is protected, or
/// may not be called at all (plain http to a host with an evaluator, a host without one where all must have one). Whatever else such a
/// class sends is its own affair, pins of evaluators included: install none in production. Requests whose scheme is not http or https
/// go to the wrapped session, too.
///
/// **What it no longer does:** delegates and task delegates, credential storage and client certificates, HTTP pipelining, connection
/// limits, cookie policies between "always" and "never" (they count as "always"), and the URL cache: nothing is cached. Of the cache
/// policies, the two that ask caches on the way to revalidate send `Cache-Control: no-cache`, `returnCacheDataDontLoad` fails, the rest
/// mean "load". A response with a redirect's status begins a new request, with interceptors, token and pins of its own.
///
/// **What goes along with a redirect to another origin** (another scheme, host or port): the body where the status asks for it, and of the
/// request's and the session's headers only those that describe what is asked for or sent: Accept and its kin, User-Agent, Cache-Control,
/// Range, the conditions (If-…) and Content-…. Every other one stays behind, Authorization, Cookie and X-Api-Key as well as names that
/// nobody knows, and the header that tokens are bound to in any case. An interceptor, which sees the new URL, can add what is meant for it.
public final class ApproovSession: Sendable {
    let performer: RequestPerformer
    let wrapped: WrappedSession
    private let service: ApproovService?
    private let prefetching: Task<Void, Never>?

    /// Wraps a session.
    ///
    /// - Parameters:
    ///   - session: The session whose configuration goes on having its effect.
    ///   - service: Where tokens and pins come from; nil: no host is protected, and only the trust manager's evaluators apply.
    ///   - trustManager: Evaluators for further hosts.
    ///   - interceptors: Called in this order before the token is asked for.
    ///   - bindHeader: The name of the header whose value tokens are bound to, such as Authorization; nil: they are bound to nothing.
    ///   - tokenHeader: The headers that carry token and trace ID.
    ///   - unboundRequests: What happens to a request to a protected host without the binding header.
    ///   - excluding: Says which URLs get no token although their host does; their host stays pinned.
    ///   - sendsWithoutTokenWhenAuthorityIsDown: Whether requests are sent without a token while the authority cannot be reached or does
    ///     not work, so that the API decides. Off, they fail with a retryable error.
    ///   - prefetchToken: Whether tokens are fetched at once: with the binding header among the additional headers, or unbound when none
    ///     is named; otherwise connection, configuration and challenge are made ready, and ``prefetch(for:binding:)`` does the rest.
    ///   - obliviousRoute: The relay and gateway for hosts that the configuration does not name; nil: they are called straight. For those
    ///     that it names it says by itself whether and how they are called over Oblivious HTTP.
    ///   - allRequestsMustBeOblivious: Whether a request is refused that would not go over Oblivious HTTP. What the wrapped session itself
    ///     performs is not asked.
    ///   - maximumRedirects: How many redirects are followed; with 0 a redirect comes back as it is.
    ///   - transport: What sends requests; nil: the service's, or one of its own.
    ///   - clock: Where the time comes from; nil: the service's, or the system's.
    /// - Throws: ``ApproovError`` `initializationError` or `configurationError` naming the header, proxy or host that is malformed.
    public init(
        wrapping session: URLSession = URLSession(configuration: .default), service: ApproovService?,
        trustManager: ApproovTrustManager = ApproovTrustManager(), interceptors: [any RequestInterceptor] = [],
        bindHeader: String? = nil, tokenHeader: TokenHeader = TokenHeader(), unboundRequests: UnboundRequests = .refused,
        excluding: (@Sendable (URL) -> Bool)? = nil, sendsWithoutTokenWhenAuthorityIsDown: Bool = false, prefetchToken: Bool = false,
        obliviousRoute: ObliviousRoute? = nil, allRequestsMustBeOblivious: Bool = false, maximumRedirects: Int = 20,
        transport: (any HTTPTransport)? = nil, clock: (any TimeSource)? = nil
    ) throws {
        if let own = interceptors.first(where: { $0 is ApproovInterceptor }) {
            throw ApproovError(
                .initializationError, "the session has an \(type(of: own)) of its own: give it bindHeader and tokenHeader instead")
        }
        let approov = try service.map {
            try ApproovInterceptor(
                service: $0, tokenHeader: tokenHeader, bindHeader: bindHeader, unboundRequests: unboundRequests, excluding: excluding,
                sendsWithoutTokenWhenAuthorityIsDown: sendsWithoutTokenWhenAuthorityIsDown)
        }
        let defaults = try SessionDefaults(session.configuration) { name in
            !RedirectRules.travels(name) || approov?.isBinding(name) ?? false
        }
        let ownTransport: any HTTPTransport
        do {
            ownTransport = try transport ?? service?.transport ?? CurlTransport()
        } catch {
            throw ApproovError(.initializationError, "the session has nothing to send requests with", cause: error)
        }
        self.service = service
        wrapped = WrappedSession(session)
        performer = RequestPerformer(
            defaults: defaults, interceptors: interceptors, approov: approov, service: service,
            policies: try PolicySource(manager: trustManager, keeper: service?.keeper), transport: ownTransport,
            time: clock ?? service?.time ?? SystemTimeSource(), maximumRedirects: max(0, maximumRedirects), ownRoute: obliviousRoute,
            isStraightRefused: allRequestsMustBeOblivious)
        prefetching =
            if prefetchToken, let approov {
                Task.detached { await approov.prefetch(additionalFields: defaults.fields) }
            } else {
                nil
            }
    }

    /// Wraps a session of its own, with the configuration that ``ApproovConfiguration/bundled()`` finds and the state in
    /// ``ApproovService/defaultStateDirectory()``.
    ///
    /// - Throws: ``ApproovError`` when there is no such configuration, it cannot be used, or the state cannot be read.
    public convenience init() throws {
        let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
        try self.init(service: service)
    }

    deinit {
        prefetching?.cancel()
    }

    /// Begins to fetch a token that will be needed soon, when its binding is known.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value that the binding header will have.
    public func prefetch(for url: URL, binding: String? = nil) {
        service?.prefetch(for: url, binding: binding)
    }

    /// Whether the wrapped session performs the request.
    func isWrapped(_ request: URLRequest) throws -> Bool {
        if WrappedSession.isForeign(request) {
            guard !performer.isStraightRefused || request.url?.isFileURL == true else {
                throw ApproovError(.obliviousError, "this session sends nothing straight, and only http and https can go over a relay")
            }
            return true
        }
        guard wrapped.claims(request) else { return false }
        let url = try Hop(request, body: .none).url
        let policy = try performer.policies.current()
        guard policy.snapshot?.protectedHost(for: url.host) == nil else { return false }
        // What may not be called at all may not be called by a class either; the session says why.
        return policy.trust.hasRule(for: url.host) ? url.isSecure : !policy.trust.refusesUnmatchedHosts
    }
}
