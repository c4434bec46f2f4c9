internal import ApproovBase
public import ApproovTokens
internal import Attestation
internal import CertificatePinning
internal import HTTPServing
internal import HTTPTypes
public import Hummingbird
internal import Logging
internal import Metrics

/// What a token check makes of the claim `pay`, which binds a token to a request's headers.
public enum PayPolicy: Sendable {
    /// The token must be bound, and to this request's binding headers.
    case required
    /// A token that is bound must be bound to this request's binding headers; one that is not passes.
    case optional
    /// The claim is not looked at.
    case ignored
}

/// Lets a request through when it carries a token that verifies, and answers every other one with 401 and an empty body.
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
/// The token is the value of exactly one field line of the token header, after the prefix; two lines of that name fail.
///
/// What a token is bound to is the value of the one field line of the binding header: outer spaces and tabs trimmed, UTF-8. With
/// several binding headers it is their trimmed values, in the order in which they are configured, with nothing in between. Two lines of
/// a binding header's name fail, whatever they say.
public struct TokenCheckMiddleware<Context: TokenCheckedRequestContext>: RouterMiddleware {
    private let verifier: @Sendable () -> TokenVerifier
    private let headers: TokenCheckHeaders
    private let pay: PayPolicy
    private let passed = Counter(label: "approov_token_checks", dimensions: [("result", "passed")])
    private let refused = Counter(label: "approov_token_checks", dimensions: [("result", "refused")])
    /// Any caller can be refused.
    private let refusals = LogAllowance()
    /// When lines are logged.
    var time: any TimeSource = SystemTimeSource()

    /// Makes a check with fixed keys.
    /// - Parameters:
    ///   - verifier: knows the keys, and the audience when that is to be checked
    ///   - header: the name of the token header
    ///   - prefix: what precedes the token in it, such as `"Bearer "`; compared exactly
    ///   - bindingHeaders: the headers that tokens are bound to, in order
    ///   - pay: whether tokens must be bound; nil for `.required` where there are binding headers and `.ignored` where there are none
    /// - Throws: `TokenCheckError.invalidConfiguration` for a name that is none, a binding header twice or equal to the token header,
    ///   and for `.required` or `.optional` without binding headers; `.demoKeysExposed` for the demo account's secret where the audience
    ///   is not a name of this machine
    public init(
        verifier: TokenVerifier, header: String = "Approov-Token", prefix: String = "", bindingHeaders: [String] = [],
        pay: PayPolicy? = nil
    ) throws {
        guard Self.isAllowed(verifier) else {
            throw TokenCheckError(
                .demoKeysExposed,
                "the demo account's secret is published; give the verifier an audience such as api.demo.localhost, or an account "
                    + "of your own")
        }
        try self.init(verifierProvider: { verifier }, header: header, prefix: prefix, bindingHeaders: bindingHeaders, pay: pay)
    }

    /// Makes a check whose keys may change while it runs.
    ///
    /// No token passes a verifier that has the demo account's secret and an audience that is not a name of this machine.
    /// - Parameters:
    ///   - verifierProvider: is asked at every request, so it should hand out what it keeps
    ///   - header: the name of the token header
    ///   - prefix: what precedes the token in it, such as `"Bearer "`; compared exactly
    ///   - bindingHeaders: the headers that tokens are bound to, in order
    ///   - pay: whether tokens must be bound; nil for `.required` where there are binding headers and `.ignored` where there are none
    /// - Throws: `TokenCheckError.invalidConfiguration` for a name that is none, a binding header twice or equal to the token header,
    ///   and for `.required` or `.optional` without binding headers
    public init(
        verifierProvider: @escaping @Sendable () -> TokenVerifier, header: String = "Approov-Token", prefix: String = "",
        bindingHeaders: [String] = [], pay: PayPolicy? = nil
    ) throws {
        let pay = pay ?? (bindingHeaders.isEmpty ? .ignored : .required)
        switch pay {
        case .required, .optional:
            guard !bindingHeaders.isEmpty else {
                throw TokenCheckError(
                    .invalidConfiguration, "a check of pay needs a binding header; name one, or set pay to .ignored")
            }
        case .ignored: break
        }
        self.verifier = verifierProvider
        self.headers = try TokenCheckHeaders(token: header, prefix: prefix, binding: bindingHeaders)
        self.pay = pay
    }

    /// Checks a request.
    /// - Parameters:
    ///   - request: the request
    ///   - context: gets the verified token
    ///   - next: the rest of the chain, reached by checked requests only
    /// - Returns: the rest's response, or 401
    /// - Throws: what the rest throws
    public func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        guard let token = verify(request, context: context) else {
            refused.increment()
            // RFC 9110 §15.5.2 wants a challenge; this one is the same for every failure.
            return Response(status: .unauthorized, headers: [.wwwAuthenticate: "Approov"])
        }
        passed.increment()
        var context = context
        context.verifiedToken = token
        return try await next(request, context)
    }

    private func verify(_ request: Request, context: Context) -> VerifiedToken? {
        var token = ""
        func refuse(_ code: String, _ more: Logger.Metadata = [:]) -> VerifiedToken? {
            // The code says which check failed, for the operator; the caller is told nothing, and no log has the token or a value.
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
            context.logger.error("token refused: the demo account's secret is published and serves loopback names only")
            return nil
        }
        do {
            return try verifier.verify(token, binding: rule)
        } catch {
            return refuse("\(error.code)", verifier.audience.map { ["audienceExpected": "\($0)"] } ?? [:])
        }
    }

    /// The ARC of a token that was refused, for `approov token -arc`: a rejected app's token does not verify, and its ARC says why.
    ///
    /// Anybody can write a token that says it, so the name tells that it is unverified.
    private static func unverifiedARC(of token: String) -> Logger.Metadata {
        guard let arc = UnverifiedARC.read(fromToken: token) else { return [:] }
        return ["arcUnverified": "\(arc)"]
    }

    /// Anybody can sign with the demo account's secret, so it must open nothing but what is for this machine.
    private static func isAllowed(_ verifier: TokenVerifier) -> Bool {
        guard verifier.usesDemoKeys else { return true }
        guard let audience = verifier.audience, let host = try? CanonicalHost(audience) else { return false }
        return host.isLoopback
    }
}
