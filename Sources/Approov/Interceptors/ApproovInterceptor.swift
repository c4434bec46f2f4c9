import Attestation
@_spi(Internals) import ApproovBase
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
/// It refuses requests to an oblivious host: another client would call the host directly, which tells it who calls.
///
/// The interceptor reads the binding from the request and asks for the token with it in one call, so two requests with different
/// Authorization values each get their own token.
public final class ApproovInterceptor: RequestInterceptor {
    private let authorizer: TokenAuthorizer
    private let urls = LastValue<URL, TransportURL>()

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
        var configuration = ApproovSessionConfiguration()
        configuration.tokenHeader = tokenHeader
        configuration.bindHeader = bindHeader
        configuration.unboundRequests = unboundRequests
        configuration.excluding = excluding
        configuration.sendsWithoutTokenWhenAuthorityIsDown = sendsWithoutTokenWhenAuthorityIsDown
        authorizer = try TokenAuthorizer(service: service, configuration)
    }

    /// Creates an interceptor with the settings of a session.
    ///
    /// Of the settings, those that concern tokens apply: the token, trace ID and binding headers, the binding, and which requests get a
    /// token. An interceptor does not see the request as it is sent, so it neither signs it nor puts secure strings into it.
    ///
    /// - Parameters:
    ///   - service: The source of tokens.
    ///   - configuration: The settings.
    /// - Throws: ``ApproovError`` with code `initializationError` when a header name or the prefix is malformed, two of the headers have
    ///   the same name, tokens would be bound both to headers and to data, or there is `signing` or a substitution.
    public init(service: ApproovService, configuration: ApproovSessionConfiguration) throws {
        guard configuration.signing == nil, configuration.substitutions.isEmpty else {
            throw ApproovError(
                .initializationError,
                "an ApproovInterceptor neither signs requests nor substitutes secure strings: send the requests with an ApproovSession, or"
                    + " leave signing nil and substitutions empty")
        }
        authorizer = try TokenAuthorizer(service: service, configuration)
    }

    /// Returns the request with token and trace ID if its host gets tokens, otherwise unchanged.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when the URL or a header is malformed, `pinningError` for plain http to a
    ///   protected host, `configurationError` when the host is called over Oblivious HTTP, `bindingMissing` or `bindingAmbiguous` when a
    ///   binding header is not there exactly once, `interceptorError` when a closure or the policy of the caller threw, and
    ///   `networkingError`, `rejectionError` or `permanentError` when no token can be obtained; `CancellationError` when the task is
    ///   cancelled.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        let url = try TransportURL(of: request, urls: urls)
        guard let rule = authorizer.rule(for: url.host) else {
            authorizer.keepConfigurationFresh()
            return request
        }
        guard url.isSecure else {
            throw ApproovError(.pinningError, "\(url.host) is protected and is not called over plain http: use https")
        }
        try Self.checkCalledDirectly(url.host, rule)
        if !rule.settings.attested { authorizer.keepConfigurationFresh() }
        var fields = try HTTPFields(request)
        let outcome: TokenOutcome
        if let cached = try authorizer.authorizeFromCache(&fields, of: request, to: url, rule: rule) {
            outcome = cached
        } else {
            outcome = try await authorize(&fields, of: request, to: url, rule)
            // The token may have brought a newer configuration.
            if let rule = authorizer.rule(for: url.host) { try Self.checkCalledDirectly(url.host, rule) }
        }
        if case .notAttested = outcome { return request }
        // Remove every spelling of the names, because a dictionary of headers treats "A" and "a" as different. Replace the whole
        // dictionary, because setting a single header takes Foundation ten times as long.
        let names = authorizer.names
        var headers = request.allHTTPHeaderFields ?? [:]
        for name in headers.keys where names.isOwn(name) { headers[name] = nil }
        for field in fields where names.isOwn(field) { headers[field.name.rawName] = field.value }
        var request = request
        request.allHTTPHeaderFields = headers
        if let hooks = authorizer.hooks {
            var url = url
            _ = try await hooks.didPrepare(&request, &fields, &url)
        }
        return request
    }

    /// Fetches the token; once more if it reached its end while the caller's policy decided.
    private func authorize(
        _ fields: inout HTTPFields, of request: URLRequest, to url: TransportURL, _ rule: ProtectedHost
    ) async throws -> TokenOutcome {
        let unauthorized = fields
        let outcome = try await authorizer.authorize(&fields, of: request, to: url, rule: rule)
        guard authorizer.hasExpired(outcome) else { return outcome }
        fields = unauthorized
        return try await authorizer.authorize(&fields, of: request, to: url, rule: rule)
    }

    private static func checkCalledDirectly(_ host: CanonicalHost, _ rule: ProtectedHost) throws {
        guard !rule.settings.oblivious else {
            throw ApproovError(.configurationError, "\(host) is called over Oblivious HTTP: send the request with an ApproovSession")
        }
    }
}
