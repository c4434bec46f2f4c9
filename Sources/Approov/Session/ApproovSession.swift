import ApproovBase
internal import Attestation
import CertificatePinning
public import Foundation
public import FoundationNetworking
import HTTPClient
import Synchronization

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
/// - Cookies: the storage, `httpShouldSetCookies`, which decides whether requests carry cookies, and the policy that never accepts cookies,
///   with which responses store none.
/// - The proxies in `connectionProxyDictionary`.
/// - `delegateQueue`, on which the completion handlers of tasks run.
/// - `protocolClasses`. If one of them claims a request, as a mock does, the wrapped session performs the request. The exceptions are
///   requests to protected hosts and requests that must not be sent at all: plain http to a host with an evaluator, or any request to a
///   host without an evaluator where every host must have one. The session does not control what a protocol class sends, and the pins of
///   evaluators do not apply to it: install no protocol class in production. Foundation's own loaders never see an http or https request.
///   A request whose protocol class does not answer ends after `timeoutIntervalForResource`, and so does one whose protocol class answers
///   with status 401 and a Basic challenge, because Foundation on Linux never ends it.
///
/// The wrapped session also performs requests whose scheme is neither http nor https.
///
/// **Settings that no longer apply:** delegates and task delegates, credential storage and client certificates, HTTP pipelining, connection
/// limits, cookie policies between "always" and "never" (they count as "always"), and the URL cache, because the session caches nothing. Of
/// the cache policies, `reloadIgnoringLocalAndRemoteCacheData` and `reloadRevalidatingCacheData` send `Cache-Control: no-cache`,
/// `returnCacheDataDontLoad` fails, and all others load from the server.
///
/// **Redirects:** the session handles each redirect as a new request, with its own interceptor calls, token and pins. When a redirect leads
/// to another origin (scheme, host or port), the body goes along if the status requires it. Of the request's and the session's headers,
/// only those that describe the content asked for or sent go along: Accept and its variants, User-Agent, Cache-Control, Range, the
/// conditions (If-…) and Content-…. All other headers stay behind, such as Authorization, Cookie, X-Api-Key and headers with unknown names,
/// and so do the headers that tokens are bound to. An interceptor sees the new URL and can add the headers for it, except those that it
/// declares as secret (``RequestInterceptor/secretHeaders``).
///
/// **Users:** a session with a ``ApproovSessionConfiguration/credential`` adds the user's header to requests to the hosts that you name. When
/// the user changes, its calls in flight throw a `CancellationError`, although their tasks are not cancelled. See ``wipe(_:)``.
public final class ApproovSession: Sendable {
    let performer: RequestPerformer
    let wrapped: WrappedSession
    /// The requests in flight; nil in a session that does not track them.
    let flights: RequestFlights?
    /// The requests in flight of all sessions that were made from one another, as far as they are tracked; what a wipe wipes.
    let family: RequestFlights
    /// Tells caches about wipes.
    package let wipes: SessionWipes
    /// Nil if no one watches the session's calls.
    private let observation: CallObservation?
    /// The names, in lower case, of the headers whose values observers must not see.
    private let secretHeaders: Set<String>
    let service: ApproovService?
    private let prefetching: Prefetching?
    /// The numbers of tasks.
    let lastTaskIdentifier = Atomic(0)

    /// Creates a session that wraps a `URLSession`.
    ///
    /// - Parameters:
    ///   - session: The session whose configuration still applies, as described above.
    ///   - service: The source of tokens and pins; nil means that no host is protected and only the trust manager's evaluators apply.
    ///   - trustManager: The evaluators for further hosts.
    ///   - interceptors: The caller's interceptors, called in this order before the session asks for a token; nil for those of
    ///     `configuration`.
    ///   - bindHeader: The name of the header whose value tokens are bound to, such as Authorization; nil for those of `configuration`.
    ///   - prefetchToken: Whether the session fetches tokens at once; nil for the setting of `configuration`. See
    ///     ``ApproovSessionConfiguration/prefetchToken``.
    ///   - configuration: All settings of the session. The three arguments before it replace its values.
    /// - Throws: ``ApproovError`` with code `initializationError` or `configurationError`, which names the malformed header, proxy or host.
    public init(
        wrapping session: URLSession = URLSession(configuration: .default), service: ApproovService?,
        trustManager: ApproovTrustManager = ApproovTrustManager(), interceptors: [any RequestInterceptor]? = nil,
        bindHeader: String? = nil, prefetchToken: Bool? = nil, configuration: ApproovSessionConfiguration = ApproovSessionConfiguration()
    ) throws {
        var configuration = configuration
        if let interceptors { configuration.interceptors = interceptors }
        if let bindHeader { configuration.bindHeader = bindHeader }
        if let prefetchToken { configuration.prefetchToken = prefetchToken }
        try Self.refuseTokenInterceptor(among: configuration.interceptors)
        if let transport = configuration.transport as? any TestOnlyTransport, service != nil {
            throw ApproovError(
                .initializationError,
                "\(type(of: transport)) does not reach the hosts that it answers for, so a session that attests cannot use it: pass nil as"
                    + " the service, or use another transport")
        }
        let authorizer = try service.map { try TokenAuthorizer(service: $0, configuration) }
        let substitution = try SubstitutionStation(configuration, service: service, authorizer)
        let credential = try CredentialStation(configuration)
        let separate = credential.map { substitution.headerNames.union([$0.headerName]) } ?? substitution.headerNames
        let defaults = try SessionDefaults(session.configuration) { name in
            !RedirectRules.travels(name) || authorizer?.names.isBinding(name) ?? false || separate.contains(name)
        }
        let transport: any HTTPTransport
        do {
            transport = try configuration.transport ?? service?.transport ?? CurlTransport()
        } catch {
            throw ApproovError(.initializationError, "no transport could be made to send requests with", cause: error)
        }
        let time = configuration.clock ?? service?.time ?? SystemTimeSource()
        let stations = RequestStations(
            policies: try PolicySource(manager: trustManager, keeper: service?.keeper),
            perRequestHeaders: PerRequestHeaderStation(
                configuration.perRequestHeaders, names: authorizer?.names, substitutedHeaders: separate),
            life: SessionLife(), gate: GateStation(gate: configuration.gate),
            allowList: try AllowListStation(configuration, defaults), defaults: DefaultsStation(defaults: defaults), credential: credential,
            interceptors: InterceptorStation(interceptors: configuration.interceptors, gate: configuration.gate),
            token: TokenStation(authorizer, service: service, defaults: defaults),
            substitution: substitution, policy: PolicyStation(hooks: authorizer?.hooks),
            signing: try SigningStation(configuration, service: service, names: authorizer?.names, time: time),
            way: WayStation(ownRoute: configuration.obliviousRoute, isDirectRefused: configuration.allRequestsMustBeOblivious),
            transport: TransportStation(transport, time: time),
            response: ResponseStation(
                cookies: defaults.cookies, interceptors: configuration.interceptors, names: authorizer?.names,
                substitutedHeaders: separate, maximumRedirects: max(0, configuration.maximumRedirects), time: time),
            validation: ValidationStation(configuration.validators),
            recheck: ConfigurationRecheck(service: service, time: time))
        observation = try CallObservation(
            configuration, names: authorizer?.names, substitutedHeaders: separate, time: time)
        self.service = service
        let wipes = SessionWipes()
        self.wipes = wipes
        secretHeaders = Self.secretHeaders(of: configuration.interceptors)
        let users = configuration.interceptors.compactMap(\.userScope)
        family = RequestFlights(
            credential: configuration.credential, cookies: defaults.cookies, service: service, wipes: wipes, users: users)
        flights = configuration.credential != nil || configuration.tracksRequests || !users.isEmpty ? family : nil
        wrapped = WrappedSession(session)
        performer = RequestPerformer(stations, totalTimeout: defaults.totalTimeout, time: time)
        prefetching =
            if configuration.prefetchToken, let authorizer {
                Prefetching { await authorizer.prefetch(additionalFields: defaults.fields) }
            } else {
                nil
            }
    }

    /// Creates a session that calls hosts over Oblivious HTTP (RFC 9458).
    ///
    /// - Parameters:
    ///   - session: The session whose configuration still applies, as described above.
    ///   - service: The source of tokens and pins; nil means that no host is protected and only the trust manager's evaluators apply.
    ///   - trustManager: The evaluators for the relay and further hosts.
    ///   - obliviousRoute: The relay and gateway for hosts that the service's configuration does not name; nil to call those hosts
    ///     directly.
    ///   - allRequestsMustBeOblivious: Whether the session refuses every request that would not go over Oblivious HTTP. See
    ///     ``ApproovSessionConfiguration/allRequestsMustBeOblivious``.
    /// - Throws: ``ApproovError`` with code `initializationError` or `configurationError`, which names the malformed header, proxy or host.
    public convenience init(
        wrapping session: URLSession = URLSession(configuration: .default), service: ApproovService?,
        trustManager: ApproovTrustManager = ApproovTrustManager(), obliviousRoute: ObliviousRoute?, allRequestsMustBeOblivious: Bool = false
    ) throws {
        var configuration = ApproovSessionConfiguration()
        configuration.obliviousRoute = obliviousRoute
        configuration.allRequestsMustBeOblivious = allRequestsMustBeOblivious
        try self.init(wrapping: session, service: service, trustManager: trustManager, configuration: configuration)
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

    /// Makes a session that shares everything with another one, and calls further interceptors and validators after the others.
    private init(
        _ other: ApproovSession, adding interceptors: [any RequestInterceptor], _ validators: [any ResponseValidating],
        hiding names: Set<String>
    ) {
        performer = other.performer.adding(interceptors, validators)
        wrapped = other.wrapped
        observation = other.observation
        service = other.service
        wipes = other.wipes
        secretHeaders = other.secretHeaders.union(names).union(Self.secretHeaders(of: interceptors))
        let users = interceptors.compactMap(\.userScope)
        family = other.family
        family.add(users)
        flights = other.flights ?? (users.isEmpty ? nil : family)
        prefetching = other.prefetching
    }

    /// Returns a session that shares cookies, tokens and connections with this one, and calls further interceptors and validators after
    /// its own.
    ///
    /// The two also end together: ``finishTasksAndInvalidate()`` and ``invalidateAndCancel()`` of one end the other.
    ///
    /// - Parameters:
    ///   - interceptors: The further interceptors, in their order.
    ///   - validators: The further validators, in their order.
    /// - Returns: The other session.
    /// - Throws: ``ApproovError`` with code `initializationError` for an ``ApproovInterceptor``.
    public func adding(
        interceptors: [any RequestInterceptor], validators: [any ResponseValidating] = []
    ) throws -> ApproovSession {
        try adding(interceptors: interceptors, validators: validators, secretHeaders: [])
    }

    /// Returns such a session, whose observers do not see the values of further headers.
    ///
    /// - Parameters:
    ///   - interceptors: The further interceptors, in their order.
    ///   - validators: The further validators, in their order.
    ///   - secretHeaders: The names of headers with secret values.
    /// - Returns: The other session.
    /// - Throws: ``ApproovError`` with code `initializationError` for an ``ApproovInterceptor``.
    package func adding(
        interceptors: [any RequestInterceptor], validators: [any ResponseValidating], secretHeaders: Set<String>
    ) throws -> ApproovSession {
        try Self.refuseTokenInterceptor(among: interceptors)
        return ApproovSession(self, adding: interceptors, validators, hiding: Set(secretHeaders.map { $0.lowercased() }))
    }

    private static func secretHeaders(of interceptors: [any RequestInterceptor]) -> Set<String> {
        Set(interceptors.flatMap { $0.secretHeaders.map { $0.lowercased() } })
    }

    /// Whether a header with this name may carry a secret: it describes neither content nor the client.
    ///
    /// - Parameter name: The name.
    /// - Returns: Whether its value must not be shown.
    package static func mayBeSecret(_ name: String) -> Bool { !RedirectRules.travels(name.lowercased()) }

    /// Throws for an interceptor that sets the token, because the session does.
    private static func refuseTokenInterceptor(among interceptors: [any RequestInterceptor]) throws {
        guard let own = interceptors.first(where: { $0 is ApproovInterceptor }) else { return }
        throw ApproovError(
            .initializationError,
            "the session sets the token itself, so it takes no \(type(of: own)): give it bindHeader and tokenHeader instead")
    }

    /// Starts to fetch a token that will be needed soon; use it once the binding is known.
    ///
    /// Does nothing in a session with limited-use tokens.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value that the binding header will have; with several, their trimmed values, joined without a separator.
    public func prefetch(for url: URL, binding: String? = nil) {
        guard performer.stations.token.authorizer?.isLimitedUse != true else { return }
        service?.prefetch(for: url, binding: binding)
    }

    /// Begins to watch a call, if anyone watches.
    func observed(_ request: URLRequest, _ observation: RequestObservation) -> RequestObservation {
        guard let watching = self.observation else { return observation }
        var observation = observation
        observation.call = watching.begin(request, hiding: secretHeaders)
        return observation
    }

    func cancelPrefetching() { prefetching?.cancel() }

    /// Whether the wrapped session performs the request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isAdmitted: Whether its task was made before the session was invalidated.
    /// - Returns: Whether it does.
    /// - Throws: ``ApproovError`` with code `hostNotAllowed` when the list of allowed hosts does not allow it, with code `obliviousError`
    ///   when the request must go over a relay but its scheme does not allow that, and with code `badRequest` when its URL cannot be
    ///   requested.
    func isWrapped(_ request: URLRequest, isAdmitted: Bool = false) throws -> Bool {
        try performer.stations.life.checkBegin(isAdmitted: isAdmitted)
        let allowedHosts = performer.stations.allowList.allowedHosts
        if WrappedSession.isForeign(request) {
            if allowedHosts != nil { throw AllowedHosts.foreignScheme }
            guard !performer.stations.way.isDirectRefused || request.url?.isFileURL == true else {
                throw ApproovError(
                    .obliviousError, "this session sends nothing directly, and a relay carries only http and https: use another session")
            }
            return true
        }
        // Before a protocol class sees the request.
        if let allowedHosts, wrapped.hasProtocolClasses { try allowedHosts.check(TransportURL(of: request)) }
        guard wrapped.claims(request) else { return false }
        let url = try TransportURL(of: request)
        let hop = try performer.stations.policies.resolve(url.host)
        guard hop.rule == nil else { return false }
        // A protocol class must not send a request that the session itself would refuse. The session then reports the reason.
        return hop.isEvaluated ? url.isSecure : !hop.policy.trust.refusesUnmatchedHosts
    }
}
