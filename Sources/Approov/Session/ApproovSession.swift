public import ApproovBase
internal import Attestation
import CertificatePinning
public import Foundation
public import FoundationNetworking
public import HTTPClient

/// A replacement for `URLSession` that adds attestation tokens to requests and enforces pins.
///
/// By default, every request to a protected host carries a token. The session sends it only to a server that satisfies the host's pins.
///
/// ```swift
/// let session = try ApproovSession(wrapping: .shared, service: service, bindHeader: "Authorization")
/// let (data, response) = try await session.data(for: request)
/// ```
///
/// **Settings of the wrapped session that still apply:**
///
/// - `httpAdditionalHeaders`; the request's own headers take precedence.
/// - `timeoutIntervalForRequest`, the idle timeout. The request's own `timeoutInterval` takes precedence unless it is 60.
/// - `timeoutIntervalForResource`, which includes all redirects.
/// - Cookies: the storage, `httpShouldSetCookies`, and the policy that never accepts cookies.
/// - The proxies in `connectionProxyDictionary`.
/// - `protocolClasses`. If one of them claims a request, as a mock does, the wrapped session performs the request. The exceptions are
///   requests to protected hosts and requests that must not be sent at all: plain http to a host with an evaluator, or any request to a
///   host without an evaluator where every host must have one. The session does not control what a protocol class sends, and the pins of
///   evaluators do not apply to it: install no protocol class in production.
///
/// The wrapped session also performs requests whose scheme is neither http nor https.
///
/// **Settings that no longer apply:** delegates and task delegates, credential storage and client certificates, HTTP pipelining, connection
/// limits, cookie policies between "always" and "never" (they count as "always"), and the URL cache, because the session caches nothing. Of
/// the cache policies, the two that ask caches on the way to revalidate send `Cache-Control: no-cache`, `returnCacheDataDontLoad` fails,
/// and the others mean "load".
///
/// **Redirects:** the session handles each redirect as a new request, with its own interceptor calls, token and pins. When a redirect leads
/// to another origin (scheme, host or port), the body goes along if the status requires it. Of the request's and the session's headers,
/// only those that describe the content asked for or sent go along: Accept and its variants, User-Agent, Cache-Control, Range, the
/// conditions (If-…) and Content-…. All other headers stay behind, such as Authorization, Cookie, X-Api-Key and headers with unknown names,
/// and so does the header that tokens are bound to. An interceptor sees the new URL and can add the headers for it.
public final class ApproovSession: Sendable {
    let performer: RequestPerformer
    let wrapped: WrappedSession
    private let service: ApproovService?
    private let prefetching: Task<Void, Never>?

    /// Creates a session that wraps a `URLSession`.
    ///
    /// - Parameters:
    ///   - session: The session whose configuration still applies, as described above.
    ///   - service: The source of tokens and pins; nil means that no host is protected and only the trust manager's evaluators apply.
    ///   - trustManager: The evaluators for further hosts.
    ///   - interceptors: The caller's interceptors, called in this order before the session asks for a token.
    ///   - bindHeader: The name of the header whose value tokens are bound to, such as Authorization; nil for unbound tokens.
    ///   - tokenHeader: The headers that carry the token and the trace ID.
    ///   - unboundRequests: Whether a request to a protected host may lack the binding header.
    ///   - excluding: Returns true for URLs that get no token although their host does; the host stays pinned.
    ///   - sendsWithoutTokenWhenAuthorityIsDown: Whether requests are sent without a token while the authority cannot be reached or does
    ///     not work, so that the API decides. If false, they fail with a retryable error.
    ///   - prefetchToken: Whether the session fetches tokens at once. It binds them to the value of the binding header among the additional
    ///     headers, or to nothing when `bindHeader` is nil. If that value is missing, the session only prepares the connection, the
    ///     configuration and a challenge; call ``prefetch(for:binding:)`` to fetch the token.
    ///   - obliviousRoute: The relay and gateway for hosts that the configuration does not name; nil to call those hosts direct. For the
    ///     hosts that the configuration names, the configuration decides.
    ///   - allRequestsMustBeOblivious: Whether the session refuses every request that would not go over Oblivious HTTP. Requests for file
    ///     URLs, and requests that a protocol class of the wrapped session claims, are exempt.
    ///   - maximumRedirects: The maximum number of redirects to follow; with 0 the caller gets the redirect itself as the response.
    ///   - transport: The transport that sends requests; nil for the service's transport, or a new `CurlTransport` without a service.
    ///   - clock: The clock; nil for the service's clock, or the system's clock without a service.
    /// - Throws: ``ApproovError`` with code `initializationError` or `configurationError`, which names the malformed header, proxy or host.
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
            isDirectRefused: allRequestsMustBeOblivious)
        prefetching =
            if prefetchToken, let approov {
                Task.detached { await approov.prefetch(additionalFields: defaults.fields) }
            } else {
                nil
            }
    }

    /// Creates a session that wraps a new `URLSession` and creates its own service.
    ///
    /// The service uses the configuration that ``ApproovConfiguration/bundled()`` finds and the state in
    /// ``ApproovService/defaultStateDirectory()``.
    ///
    /// - Throws: ``ApproovError`` with code `configurationError` when that configuration is missing or cannot be used, and with code
    ///   `initializationError` when the service cannot be set up, for example because its state cannot be read.
    public convenience init() throws {
        let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
        try self.init(service: service)
    }

    deinit {
        prefetching?.cancel()
    }

    /// Starts to fetch a token that will be needed soon; use it once the binding is known.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value that the binding header will have.
    public func prefetch(for url: URL, binding: String? = nil) {
        service?.prefetch(for: url, binding: binding)
    }

    /// Whether the wrapped session performs the request.
    ///
    /// - Throws: ``ApproovError`` with code `obliviousError` when the request must go over a relay but its scheme does not allow that, and
    ///   with code `badRequest` when its URL cannot be requested.
    func isWrapped(_ request: URLRequest) throws -> Bool {
        if WrappedSession.isForeign(request) {
            guard !performer.isDirectRefused || request.url?.isFileURL == true else {
                throw ApproovError(.obliviousError, "this session sends nothing straight, and only http and https can go over a relay")
            }
            return true
        }
        guard wrapped.claims(request) else { return false }
        let url = try Hop(request, body: .none).url
        let policy = try performer.policies.current()
        guard policy.snapshot?.protectedHost(for: url.host) == nil else { return false }
        // A protocol class must not send a request that the session itself would refuse. The session then reports the reason.
        return policy.trust.hasRule(for: url.host) ? url.isSecure : !policy.trust.refusesUnmatchedHosts
    }
}
