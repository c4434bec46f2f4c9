@_spi(Internals) import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Performs one request of the app, including its redirects and retries.
///
/// Each hop takes these steps. The performer adds the wrapped session's defaults and calls the caller's interceptors. For a protected host,
/// it then fetches a token bound to the request's headers at that moment. Finally it sends the request, direct or over the relay. A
/// redirect starts again without these additions.
struct RequestPerformer: Sendable {
    /// The maximum number of times that a request is sent again because an interceptor asks for it.
    static let maximumRetries = 8
    /// The longest wait before a retry.
    static let longestRetryDelay: Duration = .seconds(60)
    /// The maximum number of attempts to prepare a request while the policy keeps changing; then the request is refused.
    private static let maximumPolicyChanges = 4

    let defaults: SessionDefaults
    let interceptors: [any RequestInterceptor]
    let approov: ApproovInterceptor?
    let service: ApproovService?
    let policies: PolicySource
    let transport: any HTTPTransport
    let time: any TimeSource
    let maximumRedirects: Int
    /// The route to hosts that the configuration does not name; nil to call them direct.
    let ownRoute: ObliviousRoute?
    /// Whether requests that would go direct are refused.
    let isStraightRefused: Bool
    let gatewayMemory = GatewayMemory()
    private let heads = LastValue<Performed.Head, HTTPURLResponse>()
    private let urls = LastValue<URL, TransportURL>()

    /// The limits and observers of one transfer.
    struct Observation: Sendable {
        var bodyLimit: Int?
        var onUpload: (@Sendable (TransferProgress) -> Void)?
        var onDownload: (@Sendable (TransferProgress) -> Void)?
        /// Whether the caller reads the response part by part, so that it may have any size.
        var isStreamed = false
    }

    private struct Sent {
        let response: TransportResponse
        /// The URL that the request was sent to; interceptors may have changed it within the origin.
        let url: URL
        /// The URL as the caller or a redirect spelled it; the caller sees this one.
        let askedFor: URL
        /// Whether a redirect must not lead to plain http.
        let demandsTLS: Bool
        /// Whether the request went over a relay.
        let isOblivious: Bool
    }

    /// Performs the request.
    ///
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` when the task is cancelled.
    func perform(_ request: URLRequest, body: RequestBody, observation: Observation) async throws -> Performed {
        let started = time.uptime
        var hop = try Hop(request, body: body, urls: urls)
        let first = hop
        var redirects = 0
        var attempt = 1
        while true {
            let outcome: Result<Sent, any Error>
            do {
                outcome = .success(try await send(hop, started: started, observation))
            } catch {
                // Before a redirect or a retry, a request was already sent. Only an idempotent one can then be repeated safely.
                let isRepeatable = first.request.isIdempotent ? true : redirects > 0 || attempt > 1 ? false : nil
                outcome = .failure(ApproovError.wrapping(error, isRepeatable: isRepeatable))
            }
            if case .success(let sent) = outcome {
                if hop.request.httpShouldHandleCookies { defaults.cookies?.store(from: sent.response, to: sent.url) }
                if maximumRedirects > 0, RedirectRules.isRedirect(sent.response.status),
                    let next = try RedirectRules.next(
                        after: sent.response, from: hop, at: sent.url, demandsTLS: sent.demandsTLS, interceptor: approov)
                {
                    redirects += 1
                    guard redirects <= maximumRedirects else {
                        throw ApproovError(.redirectRefused, "more than \(maximumRedirects) redirects, the last one by \(hop.url.host)")
                    }
                    hop = next
                    if sent.isOblivious { hop.isBehindRelay = true }
                    continue
                }
            }
            if try await isRetried(outcome, of: first, attempt: attempt, started: started) {
                attempt += 1
                redirects = 0
                hop = first
                continue
            }
            let sent = try outcome.get()
            return Performed(response: sent.response, url: sent.askedFor, heads: heads)
        }
    }

    /// Sends one hop, including its interceptors and its token.
    private func send(_ hop: Hop, started: Duration, _ observation: Observation) async throws -> Sent {
        var policy = try policies.current()
        try check(hop, under: policy)
        var (adapted, base) = try await adapt(hop)
        // `URLSession` adds the same header.
        if !base.scan(for: .accept) { base.append(HTTPField(name: .accept, value: "*/*")) }
        let method = try adapted.method
        var options = defaults.options(for: adapted.request, isSecure: hop.url.isSecure, remaining: try remaining(since: started))
        options.maximumBodyBytes = observation.bodyLimit
        options.onUpload = observation.onUpload
        options.onDownload = observation.onDownload

        var isRechecked = false
        for _ in 0..<Self.maximumPolicyChanges {
            let host = policy.snapshot?.protectedHost(for: hop.url.host)
            var fields = base
            if let host, let approov {
                // Wait for the authority no longer than for the host itself.
                let patience = min(try remaining(since: started), options.idleTimeout)
                let hasLostBinding = hop.hasLostBinding || hop.hasLeftOrigin && approov.isBound(defaults.fields)
                _ = try await approov.authorize(
                    &fields, of: adapted.request, to: hop.url.host, entry: host, within: patience, hasLostBinding: hasLostBinding)
            }
            if host?.settings.attested != true { service?.keepConfigurationFresh() }
            // Fetching the token may have brought a newer configuration. In that case start again under it, including the token.
            let newest = try policies.current()
            guard newest === policy else {
                policy = newest
                try check(hop, under: policy)
                continue
            }
            do {
                options.totalTimeout = try remaining(since: started)
                let request = TransportRequest(
                    url: adapted.url, method: method, headerFields: fields, body: adapted.body, policy: policy.trust, options: options)
                let route = try route(to: host, from: hop, under: policy)
                let response = try await send(request, over: route, isStreamed: observation.isStreamed)
                return Sent(
                    response: response, url: adapted.request.url ?? URL(filePath: "/"), askedFor: hop.request.url ?? URL(filePath: "/"),
                    demandsTLS: policy.trust.hasRule(for: hop.url.host) || approov?.hasToken(fields) == true, isOblivious: route != nil)
            } catch let error where host != nil && !isRechecked && Self.mayBeOutdated(error) {
                // The server's keys may have changed, and a newer signed configuration may already contain them.
                isRechecked = true
                try await recheckConfiguration(within: remaining(since: started))
                let newest = try policies.current()
                guard Self.mayBeSent(adapted, after: error, under: newest, insteadOf: policy) else {
                    throw Self.explained(error, isOwnRoute: false)
                }
                policy = newest
                try check(hop, under: policy)
            } catch {
                throw Self.explained(error, isOwnRoute: host == nil)
            }
        }
        throw ApproovError(.networkingError, "the configuration changed again and again while the request was prepared; try again")
    }

    /// Refuses, before any I/O, requests that must not be sent at all.
    private func check(_ hop: Hop, under policy: RequestPolicy) throws {
        try policy.checkScheme(of: hop.url)
        if policy.trust.refusesUnmatchedHosts { _ = try policy.trust.rule(for: hop.url.host) }
        if hop.request.cachePolicy == .returnCacheDataDontLoad {
            throw ApproovError(.unsupported, "no response is ever cached, so that none can be returned without loading: use another policy")
        }
    }

    /// Adds the session's defaults and calls the caller's interceptors.
    private func adapt(_ hop: Hop) async throws -> (hop: Hop, fields: HTTPFields) {
        let cookie = hop.request.httpShouldHandleCookies ? hop.request.url.flatMap { defaults.cookies?.header(for: $0) } : nil
        guard !interceptors.isEmpty else {
            var fields = try HTTPFields(hop.request)
            complete(&fields, of: hop, cookie: cookie)
            return (hop, fields)
        }
        var fields = try HTTPFields(hop.request)
        let own = fields
        complete(&fields, of: hop, cookie: cookie)
        var request = hop.request
        var url = hop.url
        if fields.count > own.count {
            var headers = request.allHTTPHeaderFields ?? [:]
            for field in fields where !own.contains(field.name) { headers[field.name.rawName] = field.value }
            request.allHTTPHeaderFields = headers
        }
        for interceptor in interceptors {
            let before = request.url
            do {
                request = try await interceptor.adapt(request)
            } catch is CancellationError {
                throw CancellationError()
            } catch let error as ApproovError {
                throw error
            } catch {
                throw ApproovError(.interceptorError, "\(type(of: interceptor)) does not let the request go", cause: error)
            }
            if request.url != before { url = try checked(request, was: hop.url, after: interceptor) }
        }
        var adapted = hop
        adapted.request = request
        adapted.url = url
        if request.httpBody != hop.request.httpBody || request.httpBodyStream !== hop.request.httpBodyStream {
            adapted.body = RequestBody(of: request)
        }
        return (adapted, try HTTPFields(request))
    }

    private func complete(_ fields: inout HTTPFields, of hop: Hop, cookie: String?) {
        defaults.merge(into: &fields, hasLeftOrigin: hop.hasLeftOrigin)
        // Append the cookies as one field: setting the field by name would split it into one field per cookie.
        if let cookie, !fields.scan(for: .cookie) { fields.append(HTTPField(name: .cookie, value: cookie)) }
        let policy = hop.request.cachePolicy == .useProtocolCachePolicy ? defaults.cachePolicy : hop.request.cachePolicy
        switch policy {
        case .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-cache" }
        default: break
        }
    }

    /// Returns the URL after an interceptor changed it; the origin must stay the same.
    private func checked(
        _ request: URLRequest, was url: TransportURL, after interceptor: any RequestInterceptor
    ) throws -> TransportURL {
        let now = try Hop(request, body: .none).url
        guard now.host == url.host, now.port == url.port, now.isSecure == url.isSecure else {
            throw ApproovError(
                .interceptorError,
                "\(type(of: interceptor)) changed where the request goes, from \(url.origin) to \(now.origin): "
                    + "scheme, host and port must stay"
            )
        }
        return now
    }

    /// Sends the request direct, or over the relay.
    private func send(_ request: TransportRequest, over route: ObliviousRoute?, isStreamed: Bool) async throws -> TransportResponse {
        guard let route else { return try await transport.send(request) }
        let channel = ObliviousChannel(route: route, transport: transport, time: time, memory: gatewayMemory)
        return try await channel.send(request, isStreamed: isStreamed)
    }

    /// Returns the relay to use; nil to call the host direct.
    ///
    /// - Throws: ``ApproovError`` when the request would go direct but must not, because that would tell who calls: with code
    ///   `configurationError` when the host is oblivious and the configuration has no relay, `obliviousError` when the session refuses
    ///   direct requests, and `redirectRefused` when a host that is called over a relay redirected here.
    private func route(to host: ProtectedHost?, from hop: Hop, under policy: RequestPolicy) throws -> ObliviousRoute? {
        let name = hop.url.host
        if let route = host == nil ? ownRoute : policy.snapshot?.obliviousRoute, host?.settings.oblivious ?? true { return route }
        guard host?.settings.oblivious != true else {
            throw ApproovError(.configurationError, "\(name) is to be called over Oblivious HTTP, and there is no relay")
        }
        guard !isStraightRefused else {
            throw ApproovError(
                .obliviousError,
                "\(name) is not oblivious in the configuration, and this session sends nothing straight: approov api -add … -oblivious")
        }
        guard !hop.isBehindRelay else {
            throw ApproovError(
                .redirectRefused,
                "a host that is called over Oblivious HTTP redirects to \(name), which is not and would learn who calls: make it oblivious, too"
            )
        }
        return nil
    }

    /// Whether a newer configuration may help, because the pins did not match or the gateway did not accept the key.
    private static func mayBeOutdated(_ error: any Error) -> Bool {
        switch error {
        case let error as TransportError: error.code == .trustRefused
        case RelayExchange.Refusal.key: true
        default: false
        }
    }

    private static func mayBeSent(
        _ hop: Hop, after error: any Error, under newest: RequestPolicy, insteadOf policy: RequestPolicy
    ) -> Bool {
        // A pin mismatch comes before any byte of the body is sent. Over a relay, however, a body stream sent whole has already been read.
        guard hop.body.canBeSentAgain else { return false }
        guard case RelayExchange.Refusal.key = error else { return newest !== policy }
        // Only the relay says that the key was refused, and it may lie. With the same key, another attempt could only make the request run
        // twice.
        return newest.snapshot?.obliviousRoute?.key != policy.snapshot?.obliviousRoute?.key
    }

    private static func explained(_ error: any Error, isOwnRoute: Bool) -> any Error {
        guard case RelayExchange.Refusal.key = error else { return error }
        let remedy =
            isOwnRoute
            ? "fetch its current keys from its /ohttp-keys, and give them to the session"
            : "publish its keys with `approov oblivious -set`"
        return ApproovError(.obliviousError, "the gateway does not accept the key that the request was sealed with: \(remedy)")
    }

    private func remaining(since started: Duration) throws -> Duration {
        let remaining = defaults.totalTimeout - (time.uptime - started)
        guard remaining > .zero else {
            throw ApproovError(.timedOut, "the request with its redirects and retries took longer than the session allows")
        }
        return remaining
    }

    private func recheckConfiguration(within patience: Duration) async throws {
        guard let service else { return }
        _ = await time.value(within: patience) { await service.recheckConfiguration() }
        try Task.checkCancellation()
    }

    /// Asks the interceptors whether to retry, and waits if they ask for a delay.
    private func isRetried(_ outcome: Result<Sent, any Error>, of first: Hop, attempt: Int, started: Duration) async throws -> Bool {
        guard !interceptors.isEmpty, attempt <= Self.maximumRetries else { return false }
        // This applies even if a redirect dropped the body, because a retry sends the first request again.
        if case .stream = first.body { return false }
        let seen: RequestOutcome
        switch outcome {
        case .success(let sent):
            seen = .response(try Performed(response: sent.response, url: sent.askedFor, heads: heads).head())
        case .failure(let error):
            guard !(error is CancellationError) else { return false }
            seen = .failure(error)
        }
        for interceptor in interceptors {
            switch await interceptor.retry(first.request, after: seen, attempt: attempt) {
            case .doNotRetry: continue
            case .retry: return true
            case .retryAfter(let delay):
                try await time.sleep(for: min(max(delay, .zero), Self.longestRetryDelay, remaining(since: started)))
                return true
            }
        }
        return false
    }
}
