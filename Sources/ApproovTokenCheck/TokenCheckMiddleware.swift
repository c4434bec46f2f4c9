internal import ApproovBase
public import ApproovTokens
internal import Attestation
internal import HTTPServing
internal import HTTPTypes
public import Hummingbird
internal import Logging
internal import Metrics

/// Passes requests that carry a valid token, and answers all others with 401 and an empty body.
///
///     let verifier = try TokenVerifier(keys: [.hs256(secret)], audience: "api.example.com")
///     let router = Router(context: BasicTokenCheckedRequestContext.self)
///     router.group()
///         .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: ["Authorization"], pay: .required))
///         .get("shapes") { request, context in
///             let token = try context.requireVerifiedToken()
///             return "a shape for \(token.claims.did ?? "an unnamed device")"
///         }
///
/// The token header must occur exactly once. Its value is the prefix followed by the token. A request with two such field lines fails.
///
/// The bound value is the value of the binding header, in UTF-8, without leading and trailing spaces and tabs. With several binding headers
/// it is their trimmed values, joined without a separator in the configured order. An empty value counts as missing. A request that repeats
/// a binding header fails, whatever the values, unless the policy is `.ignored`.
///
/// The authority annotates the tokens of builds and devices that an API may not want, in the claim `anno`: `dev-key` for a build with the
/// development key, `always-pass` for a device that passes whatever its evidence says, and the name of each environment flag whose action is
/// `annotate`. A production API refuses them with `refusing: ["dev-key", "always-pass"]`.
public struct TokenCheckMiddleware<Context: TokenCheckedRequestContext>: RouterMiddleware {
    private let verifier: @Sendable () -> TokenVerifier
    private let headers: TokenCheckHeaders
    private let pay: PayPolicy
    private let refusedAnnotations: Set<String>
    private let passed = Counter(label: "approov_token_checks", dimensions: [("result", "passed")])
    private let refused = Counter(label: "approov_token_checks", dimensions: [("result", "refused")])
    /// Bounds the log lines about refused requests, because any caller can cause them.
    private let refusals = LogAllowance()
    /// Lets each limited-use token pass once; nil where tokens may be used often.
    var consumer: TokenConsumer?
    /// The clock for the log lines and for the wait for a replay store.
    var time: any TimeSource = SystemTimeSource()

    /// Creates a check with fixed keys.
    /// - Parameters:
    ///   - verifier: The verifier, with the keys and optionally the audience to check.
    ///   - header: The name of the token header.
    ///   - prefix: The text before the token in that header, such as `"Bearer "`; compared exactly.
    ///   - bindingHeaders: The headers that tokens are bound to, in order.
    ///   - pay: Whether tokens must be bound; nil means `.required` with binding headers and `.ignored` without.
    ///   - annotations: The annotations (claim `anno`) with which a token is refused although it verifies.
    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when a header name is invalid, a binding header is repeated or equal
    ///   to the token header, `pay` is `.required` or `.optional` without binding headers, or an annotation is empty; with code
    ///   `demoKeysExposed` when the verifier has the demo account's secret and its audience is not a loopback name.
    public init(
        verifier: TokenVerifier, header: String = TokenCheckHeaders.standardTokenName, prefix: String = "", bindingHeaders: [String] = [],
        pay: PayPolicy? = nil, refusing annotations: Set<String> = []
    ) throws {
        guard Self.isAllowed(verifier) else {
            throw TokenCheckError(
                .demoKeysExposed,
                "the demo account's secret is public; use your own account's secret, or for tests an audience such as api.demo.localhost")
        }
        try self.init(
            verifierProvider: { verifier }, header: header, prefix: prefix, bindingHeaders: bindingHeaders, pay: pay, refusing: annotations)
    }

    /// Creates a check whose keys may change while it runs.
    ///
    /// If the verifier has the demo account's secret and its audience is not a loopback name, every token is refused.
    /// - Parameters:
    ///   - verifierProvider: Returns the verifier; called for every request, so it should return a stored one.
    ///   - header: The name of the token header.
    ///   - prefix: The text before the token in that header, such as `"Bearer "`; compared exactly.
    ///   - bindingHeaders: The headers that tokens are bound to, in order.
    ///   - pay: Whether tokens must be bound; nil means `.required` with binding headers and `.ignored` without.
    ///   - annotations: The annotations (claim `anno`) with which a token is refused although it verifies.
    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when a header name is invalid, a binding header is repeated or equal
    ///   to the token header, `pay` is `.required` or `.optional` without binding headers, or an annotation is empty.
    public init(
        verifierProvider: @escaping @Sendable () -> TokenVerifier, header: String = TokenCheckHeaders.standardTokenName,
        prefix: String = "", bindingHeaders: [String] = [], pay: PayPolicy? = nil, refusing annotations: Set<String> = []
    ) throws {
        let pay = pay ?? (bindingHeaders.isEmpty ? .ignored : .required)
        switch pay {
        case .required, .optional:
            guard !bindingHeaders.isEmpty else {
                throw TokenCheckError(
                    .invalidConfiguration, "checking pay needs a binding header; name one in bindingHeaders, or set pay to .ignored")
            }
        case .ignored: break
        }
        guard !annotations.contains("") else {
            throw TokenCheckError(.invalidConfiguration, "an annotation to refuse must not be empty; name it as in a token's anno claim")
        }
        self.verifier = verifierProvider
        self.headers = try TokenCheckHeaders(token: header, prefix: prefix, binding: bindingHeaders)
        self.pay = pay
        refusedAnnotations = annotations
    }

    /// Checks a request.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context; the next handler receives a copy with the verified token.
    ///   - next: The next handler, called only for requests that pass.
    /// - Returns: The next handler's response, or 401; 503 when a replay store fails.
    /// - Throws: Any error that the next handler throws.
    public func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        guard var token = verify(request, context: context) else {
            refused.increment()
            return .tokenRefused
        }
        if let consumer {
            switch await consumer.consume(token, logger: context.logger, time: time) {
            case .passed(let consumed): token = consumed
            case .refused:
                refused.increment()
                return .tokenRefused
            case .unavailable: return TokenConsumer.unavailableResponse
            }
        }
        passed.increment()
        var context = context
        context.verifiedToken = token
        return try await next(request, context)
    }

    private func verify(_ request: Request, context: Context) -> VerifiedToken? {
        var token = ""
        func refuse(_ code: String, _ more: Logger.Metadata = [:]) -> VerifiedToken? {
            // The operator learns from the code which check failed; the caller learns nothing. The log never has the token or a header
            // value.
            refusals.notice(
                "token refused", to: context.logger, at: time.uptime,
                metadata: ["code": "\(code)"].merging(more) { $1 }.merging(Self.unverifiedARC(of: token)) { $1 })
            return nil
        }
        switch headers.token(in: request.headers) {
        case .success(let found): token = found
        case .failure(let flaw): return refuse(flaw.rawValue, ["header": "\(headers.tokenName)"])
        }
        let rule: PayRule
        if case .ignored = pay {
            rule = .ignored
        } else {
            guard let values = headers.boundValues(in: request.headers) else {
                return refuse("malformedBindingHeader", ["headers": "\(headers.bindingNames)"])
            }
            if case .required = pay {
                guard !values.isEmpty else { return refuse("missingBindingHeader", ["headers": "\(headers.bindingNames)"]) }
                rule = .required(values)
            } else {
                rule = .optional(values)
            }
        }
        let verifier = verifier()
        guard Self.isAllowed(verifier) else {
            context.logger.error(
                "token refused: the demo account's secret is public, and is only valid for loopback names; use your own account's secret")
            return nil
        }
        let verified: VerifiedToken
        do {
            verified = try verifier.verify(token, binding: rule)
        } catch {
            return refuse("\(error.code)", verifier.audience.map { ["audienceExpected": "\($0)"] } ?? [:])
        }
        let flaws = refusedAnnotations.intersection(verified.claims.anno ?? [])
        guard flaws.isEmpty else { return refuse("annotationRefused", ["annotations": "\(flaws.sorted())"]) }
        return verified
    }

    /// The ARC of a refused token, for `approov token -arc`: a rejected app's token does not verify, and its ARC says why.
    ///
    /// The metadata key says that the ARC is unverified, because anyone can write a token that contains one.
    private static func unverifiedARC(of token: String) -> Logger.Metadata {
        guard let arc = UnverifiedARC.read(fromToken: token) else { return [:] }
        return ["arcUnverified": "\(arc)"]
    }

    /// Anyone can sign with the demo account's published secret, so its tokens are accepted for loopback names only.
    private static func isAllowed(_ verifier: TokenVerifier) -> Bool {
        guard verifier.usesDemoKeys else { return true }
        return verifier.audience.map(ListenerAddress.isLoopback) ?? false
    }
}
