import ApproovBase
import Attestation
import CertificatePinning
public import Foundation
public import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Adds a token to every request to a host that gets tokens.
///
/// An ``ApproovSession`` has its own. Use this type alone to authorize requests that another client sends. That client must then enforce
/// pins and handle redirects itself.
///
/// The interceptor reads the binding from the request and asks for the token with it in one call, so two requests with different
/// Authorization values each get their own token.
public final class ApproovInterceptor: RequestInterceptor {
    private let service: ApproovService
    private let tokenName: HTTPField.Name
    private let tokenPrefix: String
    private let traceIDName: HTTPField.Name?
    private let bindingName: HTTPField.Name?
    private let unboundRequests: UnboundRequests
    private let isExcluded: (@Sendable (URL) -> Bool)?
    private let sendsWithoutToken: Bool

    /// Creates an interceptor.
    ///
    /// - Parameters:
    ///   - service: The source of tokens.
    ///   - tokenHeader: The headers that carry the token and the trace ID.
    ///   - bindHeader: The name of the header whose value tokens are bound to, such as Authorization; nil for unbound tokens.
    ///   - unboundRequests: Whether a request may lack that header.
    ///   - excluding: Returns true for URLs that get no token although their host does; nil to exclude no URL.
    ///   - sendsWithoutTokenWhenAuthorityIsDown: Whether requests are sent without a token while the authority cannot be reached or does
    ///     not work, so that the API decides. If false, they fail with a retryable error.
    /// - Throws: ``ApproovError`` with code `initializationError` when a header name or the prefix is malformed, or two of the headers have
    ///   the same name.
    public init(
        service: ApproovService, tokenHeader: TokenHeader = TokenHeader(), bindHeader: String? = nil,
        unboundRequests: UnboundRequests = .refused, excluding: (@Sendable (URL) -> Bool)? = nil,
        sendsWithoutTokenWhenAuthorityIsDown: Bool = false
    ) throws {
        self.service = service
        tokenName = try Self.name(tokenHeader.name)
        tokenPrefix = tokenHeader.prefix
        traceIDName = try tokenHeader.traceIDName.map(Self.name)
        bindingName = try bindHeader.map(Self.name)
        self.unboundRequests = unboundRequests
        isExcluded = excluding
        sendsWithoutToken = sendsWithoutTokenWhenAuthorityIsDown
        guard HTTPField.isValidValue(tokenPrefix + "x") else {
            throw ApproovError(.initializationError, "the token header's prefix has characters that a header may not have")
        }
        guard tokenName != bindingName, traceIDName == nil || (traceIDName != tokenName && traceIDName != bindingName) else {
            throw ApproovError(
                .initializationError, "token, trace ID and binding need three different headers: a token cannot be bound to itself")
        }
    }

    /// Returns the request with token and trace ID if its host gets tokens, otherwise unchanged.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when the URL or a header is malformed, `pinningError` for plain http to a
    ///   protected host, `bindingMissing` or `bindingAmbiguous` when the binding header is not there exactly once, and `networkingError`,
    ///   `rejectionError` or `permanentError` when no token can be obtained; `CancellationError` when the task is cancelled.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        let hop = try Hop(request, body: .none)
        let snapshot = service.keeper.current
        guard let entry = snapshot.protectedHost(for: hop.url.host) else { return request }
        guard hop.url.isSecure else {
            throw ApproovError(.pinningError, "\(hop.url.host) is protected and is not called over plain http: use https")
        }
        var fields = try HTTPFields(request)
        guard try await authorize(&fields, of: request, to: hop.url.host, entry: entry) else { return request }
        // Remove every spelling of the names, because a dictionary of headers treats "A" and "a" as different. Replace the whole
        // dictionary, because setting a single header takes Foundation ten times as long.
        var headers = request.allHTTPHeaderFields ?? [:]
        for name in headers.keys where isOwn(name) { headers[name] = nil }
        headers[tokenName.rawName] = fields[tokenName]
        if let traceIDName { headers[traceIDName.rawName] = fields[traceIDName] }
        var request = request
        request.allHTTPHeaderFields = headers
        return request
    }

    /// Sets token and trace ID in the header fields of a request to a protected host.
    ///
    /// - Parameters:
    ///   - fields: The header fields of the request so far.
    ///   - request: The request, for the caller's predicates.
    ///   - host: The host that is called and that the token is for.
    ///   - entry: The configuration's rule for that host.
    ///   - patience: The longest wait for a token; nil for the service's own limits.
    ///   - hasLostBinding: Whether a redirect removed the binding header.
    /// - Returns: Whether this host and URL get tokens; if not, the fields are unchanged.
    /// - Throws: ``ApproovError`` with the codes of ``adapt(_:)``; `CancellationError` when the task is cancelled.
    func authorize(
        _ fields: inout HTTPFields, of request: URLRequest, to host: CanonicalHost, entry: ProtectedHost, within patience: Duration? = nil,
        hasLostBinding: Bool = false
    ) async throws -> Bool {
        guard entry.settings.attested else { return false }
        if let isExcluded, let url = request.url, isExcluded(url) { return false }
        let key = TokenKey(host: host, entry: entry, binding: try binding(of: fields, request, hasLostBinding: hasLostBinding))
        let result: TokenFetchResult
        if let cached = service.cachedToken(for: key) {
            result = cached
        } else {
            result = try await token(for: key, within: patience)
        }
        // Remove the caller's own values: only this interceptor sets these headers.
        if fields.contains(where: isOwn) { fields.removeAll(where: isOwn) }
        guard try carriesToken(result) else { return true }
        fields.append(HTTPField(name: tokenName, value: tokenPrefix.isEmpty ? result.token : tokenPrefix + result.token))
        // The authority can link the trace ID to the app's address, so behind a relay the trace ID would reveal the caller.
        if let traceIDName, !entry.settings.oblivious { fields.append(HTTPField(name: traceIDName, value: result.traceID)) }
        return true
    }

    private func token(for key: TokenKey, within patience: Duration?) async throws -> TokenFetchResult {
        let service = service
        let result =
            if let patience {
                await service.time.value(within: patience) { await service.token(for: key) }
            } else {
                await service.token(for: key) as TokenFetchResult?
            }
        try Task.checkCancellation()
        return result
            ?? TokenFetchResult(
                status: .poorNetwork,
                error: ApproovError(.networkingError, "no token came within the request's timeout; try again, with a longer one"))
    }

    /// Removes the headers that ``authorize(_:of:to:entry:within:hasLostBinding:)`` sets and, if `andBinding` is true, the binding header.
    func strip(_ request: inout URLRequest, andBinding: Bool) {
        request.removeHeaders { isOwn($0) || (andBinding && isBinding($0)) }
    }

    /// Whether tokens are bound to the header with this name.
    func isBinding(_ name: String) -> Bool { matches(name, bindingName) }

    /// Whether the request has the header that tokens are bound to.
    func isBound(_ request: URLRequest) -> Bool { request.allHTTPHeaderFields?.keys.contains(where: isBinding) ?? false }

    /// Whether the fields contain the header that tokens are bound to.
    func isBound(_ fields: HTTPFields) -> Bool { bindingName.map { fields.scan(for: $0) } ?? false }

    /// Whether the fields contain a token.
    func hasToken(_ fields: HTTPFields) -> Bool { fields.scan(for: tokenName) }

    /// Starts to fetch tokens for a session before they are needed.
    func prefetch(additionalFields: HTTPFields) async {
        guard let bindingName else { return service.prefetchAll(binding: nil) }
        guard let binding = additionalFields[bindingName], !Binding.isEmpty(binding) else { return await service.warmUp() }
        service.prefetchAll(binding: binding)
    }

    private func isOwn(_ field: HTTPField) -> Bool { field.name == tokenName || field.name == traceIDName }

    private func isOwn(_ name: String) -> Bool { matches(name, tokenName) || matches(name, traceIDName) }

    private func matches(_ name: String, _ own: HTTPField.Name?) -> Bool {
        guard let own, name.utf8.count == own.canonicalName.utf8.count else { return false }
        return HTTPField.Name(name) == own
    }

    /// Returns the value of the binding header; nil when the token is not bound.
    ///
    /// A header that contains only whitespace counts as missing.
    private func binding(of fields: HTTPFields, _ request: URLRequest, hasLostBinding: Bool) throws -> String? {
        guard let bindingName else { return nil }
        var value: String?
        for field in fields where field.name == bindingName {
            guard value == nil else {
                throw ApproovError(
                    .bindingAmbiguous, "the request has two lines of \(bindingName), and the token can be bound to one: remove one of them")
            }
            value = field.value
        }
        if let value, !Binding.isEmpty(value) { return value }
        guard unboundRequests.allow(request) else {
            throw ApproovError(.bindingMissing, Self.bindingMissing(bindingName, isEmpty: value != nil, hasLostBinding: hasLostBinding))
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
            + " new URL directly, set \(name) for it in an interceptor, or exempt the request with unboundRequests"
    }

    /// Whether the request is sent with the token, according to the result's status; throws when it must not be sent.
    private func carriesToken(_ result: TokenFetchResult) throws -> Bool {
        switch result.status {
        case .success:
            return true
        case .unknownURL, .unprotectedURL:
            return false
        case .noNetwork, .poorNetwork, .noApproovService:
            if sendsWithoutToken { return false }
            throw result.error ?? ApproovError(.networkingError, "the authority gave no token; try again later")
        case .mitmDetected:
            throw result.error ?? ApproovError(.networkingError, "the authority's server is not trusted")
        case .rejected:
            throw ApproovError(
                .rejectionError, Self.rejection(result), arc: result.arc, rejectionReasons: result.rejectionReasons)
        case .badURL, .notInitialized, .disabled, .unknownKey, .badKey, .badPayload, .internalError:
            throw ApproovError(.permanentError, "no token can be had (\(result.status.rawValue))", cause: result.error)
        }
    }

    private static func rejection(_ result: TokenFetchResult) -> String {
        let reasons = result.rejectionReasons.isEmpty ? "" : " (\(result.rejectionReasons.map(LoggableText.name).joined(separator: ", ")))"
        return "the attestation failed\(reasons); the account's support learns more from this code with approov token -arc \(result.arc)"
    }

    private static func name(_ text: String) throws -> HTTPField.Name {
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            throw ApproovError(.initializationError, "\"\(LoggableText.name(text))\" is not the name of a header")
        }
        return name
    }
}
