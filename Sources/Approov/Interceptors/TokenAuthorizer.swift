import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Sets the token of a request to a host that gets tokens.
///
/// It reads the binding from the request and asks for the token with it in one call, so two requests with different bindings each get
/// their own token.
final class TokenAuthorizer: Sendable {
    let names: TokenHeaderNames
    /// Nil without a policy.
    let hooks: PolicyHooks?
    /// Whether every request gets a limited-use token.
    let isLimitedUse: Bool
    private let service: ApproovService
    private let tokenHeader: TokenHeader
    private let unboundRequests: UnboundRequests
    private let computedBinding: (@Sendable (URLRequest) async throws -> String?)?
    private let isExcluded: (@Sendable (URL) -> Bool)?
    private let excludedURLs: [URLGlob]
    private let sendsWithoutToken: Bool
    /// Whether a token from the cache needs none of the caller's closures.
    private let isPlain: Bool

    /// Creates an authorizer.
    ///
    /// - Parameters:
    ///   - service: The source of tokens.
    ///   - configuration: The settings, of which those that concern tokens apply.
    /// - Throws: ``ApproovError`` with code `initializationError` when a header name or the prefix is malformed, two of the headers have
    ///   the same name, or two settings contradict each other.
    init(service: ApproovService, _ configuration: ApproovSessionConfiguration) throws {
        tokenHeader = configuration.tokenHeader
        names = try TokenHeaderNames(tokenHeader, bindHeaders: configuration.bindHeaders)
        guard HTTPField.isValidValue(tokenHeader.prefix + "x") else {
            throw ApproovError(.initializationError, "the token header's prefix has characters that a header may not have")
        }
        guard configuration.binding == nil || names.binding.isEmpty else {
            throw ApproovError(
                .initializationError, "a token is bound either to headers or to data: set bindHeaders or binding, not both")
        }
        guard configuration.policy == nil || !configuration.sendsWithoutTokenWhenAuthorityIsDown else {
            throw ApproovError(
                .initializationError,
                "the policy decides whether requests are sent without a token: leave sendsWithoutTokenWhenAuthorityIsDown false")
        }
        let names = names
        hooks = configuration.policy.map { PolicyHooks(policy: $0, names: names) }
        self.service = service
        isLimitedUse = configuration.limitedUse
        unboundRequests = configuration.unboundRequests
        computedBinding = configuration.binding
        isExcluded = configuration.excluding
        excludedURLs = configuration.excludedURLs
        sendsWithoutToken = configuration.sendsWithoutTokenWhenAuthorityIsDown
        isPlain = !isLimitedUse && hooks == nil && computedBinding == nil && isExcluded == nil && excludedURLs.isEmpty
    }

    /// Whether the app's closure computes what tokens are bound to.
    var computesBinding: Bool { computedBinding != nil }

    /// Returns the configuration's rule for a host; nil if the host is not protected.
    func rule(for host: CanonicalHost) -> ProtectedHost? { service.keeper.current.protectedHost(for: host) }

    /// Sets token and trace ID from the cache, if that needs no wait and none of the caller's closures.
    ///
    /// Most requests need nothing more, and a call of an asynchronous function costs more than all of this.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the request so far.
    ///   - request: The request, for the caller's exemptions.
    ///   - url: The canonical URL of the request; the token is for its host.
    ///   - rule: The configuration's rule for that host.
    ///   - hasLostBinding: Whether a redirect removed the binding header.
    /// - Returns: What happened to the request; nil, with the fields unchanged, if ``authorize(_:of:to:rule:timeout:hasLostBinding:flight:life:)``
    ///   must set them.
    /// - Throws: ``ApproovError`` with code `bindingMissing` or `bindingAmbiguous` when a binding header is not there exactly once.
    func authorizeFromCache(
        _ fields: inout HTTPFields, of request: URLRequest, to url: TransportURL, rule: ProtectedHost, hasLostBinding: Bool = false
    ) throws -> TokenOutcome? {
        guard isPlain else { return nil }
        guard rule.settings.attested else { return .notAttested }
        let key = TokenKey(
            host: url.host, entry: rule, binding: try binding(of: fields, request, hasLostBinding: hasLostBinding))
        guard let cached = service.cachedToken(for: key), cached.status == .success, !cached.token.isEmpty else {
            return nil
        }
        removeOwn(from: &fields)
        return attach(cached, key, to: &fields, isOblivious: rule.settings.oblivious)
    }

    /// Sets token and trace ID in the header fields of a request to a protected host.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the request so far.
    ///   - request: The request, for the caller's predicates.
    ///   - url: The canonical URL of the request; the token is for its host.
    ///   - rule: The configuration's rule for that host.
    ///   - timeout: Returns the longest wait for a token, or nil for the service's own limits; not called for a token from the cache.
    ///   - hasLostBinding: Whether a redirect removed the binding header.
    ///   - flight: The request that may be wiped; nil if it cannot be.
    ///   - life: The life of the request's session, whose cancellation ends the wait; nil for none.
    /// - Returns: Whether the request carries a token; if its host or URL gets none, the fields are unchanged.
    /// - Throws: ``ApproovError`` with code `bindingMissing` or `bindingAmbiguous` when a binding header is not there exactly once, with
    ///   code `interceptorError` when the caller's policy or closure for the binding threw, and with code `networkingError`,
    ///   `rejectionError` or `permanentError` when no token can be obtained; `CancellationError` when the task is cancelled.
    func authorize(
        _ fields: inout HTTPFields, of request: URLRequest, to url: TransportURL, rule: ProtectedHost,
        timeout: () throws -> Duration? = { nil }, hasLostBinding: Bool = false, flight: RequestFlight? = nil,
        life: SessionLife? = nil
    ) async throws -> TokenOutcome {
        guard rule.settings.attested else { return .notAttested }
        if let isExcluded, let url = request.url, isExcluded(url) { return .notAttested }
        if !excludedURLs.isEmpty, excludedURLs.contains(where: { $0.matches(url) }) { return .notAttested }
        if let hooks, try await !hooks.shouldAttest(names.request(request, with: fields)) { return .notAttested }
        let binding: String? =
            if let computedBinding {
                try await binding(of: fields, request, computedBy: computedBinding)
            } else {
                try binding(of: fields, request, hasLostBinding: hasLostBinding)
            }
        let key = TokenKey(host: url.host, entry: rule, binding: binding)
        let result: TokenFetchResult
        if !isLimitedUse, let cached = service.cachedToken(for: key) {
            result = cached
        } else {
            // Wiped before this fetch: its token must not stay in the cache.
            defer { if let flight, flight.isWiped { service.forgetToken(for: key) } }
            result = try await token(for: key, timeout: timeout(), life)
        }
        // Asked before the policy decides, because that may take until the token's end.
        let wasUsable = result.life.map { service.time.uptime < $0.endOfUse } ?? true
        removeOwn(from: &fields)
        let decision =
            if let hooks {
                try await hooks.decide(result, for: request.carrying(fields))
            } else {
                TokenDecision(forToken: result.status, isLenient: sendsWithoutToken)
            }
        let sendsStatus = try decision.sendsWithout(result)
        guard let sendsStatus else {
            return attach(result, key, to: &fields, isOblivious: rule.settings.oblivious, wasUsable: wasUsable)
        }
        appendStatus(of: result, to: &fields)
        if sendsStatus || tokenHeader.sendsStatusWithoutToken {
            fields.append(HTTPField(name: names.token, value: tokenHeader.prefix + result.status.wireName(tokenHeader.statusCase)))
        }
        return .withoutToken
    }

    /// Whether a request's token reached its end while the caller's policy decided.
    func hasExpired(_ outcome: TokenOutcome) -> Bool {
        outcome.attached?.endOfUse.map { service.time.uptime >= $0 } ?? false
    }

    /// Asks for a newer configuration in the background if the last answer is old: a request without a token would otherwise never learn
    /// that its host gets one.
    func keepConfigurationFresh() { service.keepConfigurationFresh() }

    /// Removes the caller's own values: only the SDK sets these headers.
    private func removeOwn(from fields: inout HTTPFields) {
        if names.hasOwn(fields) { fields.removeAll(where: names.isOwn) }
    }

    private func appendStatus(of result: TokenFetchResult, to fields: inout HTTPFields) {
        if let status = names.status { fields.append(HTTPField(name: status, value: result.status.wireName(.lower))) }
    }

    private func attach(
        _ result: TokenFetchResult, _ key: TokenKey, to fields: inout HTTPFields, isOblivious: Bool, wasUsable: Bool = true
    ) -> TokenOutcome {
        appendStatus(of: result, to: &fields)
        append(result, to: &fields, isOblivious: isOblivious)
        return .attached(SentToken(key: key, result: result, wasUsable: wasUsable))
    }

    private func append(_ result: TokenFetchResult, to fields: inout HTTPFields, isOblivious: Bool) {
        if var field = result.field, tokenHeader.prefix.isEmpty {
            field.name = names.token
            fields.append(field)
        } else {
            fields.append(HTTPField(name: names.token, value: tokenHeader.prefix + result.token))
        }
        // The authority can link the trace ID to the app's address, so behind a relay the trace ID would reveal the caller.
        guard let traceID = names.traceID, !isOblivious else { return }
        guard var field = result.traceField else { return fields.append(HTTPField(name: traceID, value: result.traceID)) }
        field.name = traceID
        fields.append(field)
    }

    /// Starts to fetch tokens for a session before they are needed.
    ///
    /// - Parameter additionalFields: The headers that the session adds to every request; they may contain the binding headers.
    func prefetch(additionalFields: HTTPFields) async {
        guard !isLimitedUse, computedBinding == nil else { return await service.warmUp() }
        guard !names.binding.isEmpty else { return service.prefetchAll(binding: nil) }
        guard case .value(let binding) = names.joined(additionalFields) else { return await service.warmUp() }
        service.prefetchAll(binding: binding)
    }

    private func token(for key: TokenKey, timeout: Duration?, _ life: SessionLife?) async throws -> TokenFetchResult {
        let (service, isLimitedUse) = (service, isLimitedUse)
        @Sendable func fetch() async -> TokenFetchResult {
            isLimitedUse ? await service.limitedUseToken(for: key) : await service.token(for: key)
        }
        let result = if let timeout { await service.time.withTimeout(timeout, in: life, fetch) } else { await fetch() as TokenFetchResult? }
        try Task.checkCancellation()
        try life?.checkGoOn()
        return result
            ?? TokenFetchResult(
                status: .poorNetwork,
                error: ApproovError(.networkingError, "no token arrived within the request's timeout; try again with a longer one"))
    }

    /// Returns the joined values of the binding headers; nil when the token is not bound.
    ///
    /// A header that contains only spaces and tabs counts as missing.
    private func binding(of fields: HTTPFields, _ request: URLRequest, hasLostBinding: Bool) throws -> String? {
        guard !names.binding.isEmpty else { return nil }
        switch names.joined(fields) {
        case .value(let value):
            return value
        case .unusable(let index):
            throw ApproovError(
                .bindingAmbiguous,
                "the request has the header \(names.binding[index]) twice, but a token is bound to one value of it: remove one")
        case .missing(let index, let isEmpty):
            guard unboundRequests.allow(names.request(request, with: fields)) else {
                let message = Self.bindingMissing(names.binding[index], isEmpty: isEmpty, hasLostBinding: hasLostBinding)
                throw ApproovError(.bindingMissing, message)
            }
            return nil
        }
    }

    /// Returns the data that the caller binds the token to; nil when the token is not bound.
    private func binding(
        of fields: HTTPFields, _ request: URLRequest, computedBy compute: @Sendable (URLRequest) async throws -> String?
    ) async throws -> String? {
        let value: String?
        do {
            value = try await compute(names.request(request, with: fields))
        } catch let error where error is CancellationError || error is ApproovError {
            throw error
        } catch {
            throw ApproovError(.interceptorError, "the closure that computes the binding threw", cause: error)
        }
        if let value, !Binding.isEmpty(value) { return value }
        guard unboundRequests.allow(names.request(request, with: fields)) else {
            throw ApproovError(
                .bindingMissing,
                "the closure returned no data to bind the request's token to: return some, or exempt the request with unboundRequests")
        }
        return nil
    }

    private static func bindingMissing(_ name: HTTPField.Name, isEmpty: Bool, hasLostBinding: Bool) -> String {
        if isEmpty {
            return "\(name), which the request's token is bound to, is empty: give it a value, or exempt the request with unboundRequests"
        }
        guard hasLostBinding else {
            return "the request lacks \(name), which its token is bound to: set it, or exempt the request with unboundRequests"
        }
        return "a redirect to another origin removed \(name), which the token is bound to, since it was not meant for that origin: call the"
            + " new URL directly, set \(name) for it in an interceptor that does not declare it as secret, or exempt the request with"
            + " unboundRequests"
    }
}
