internal import ApproovBase
internal import ApproovTokens
internal import HTTPServing
public import HTTPTypes
public import Hummingbird
internal import Logging
public import MessageSignatures
internal import Metrics
internal import NIOCore

/// Passes requests that carry a valid HTTP message signature (RFC 9421) beside their token, and answers all others with 401 and an empty
/// body.
///
///     let router = Router(context: BasicSignatureCheckedRequestContext.self)
///     router.group()
///         .add(middleware: try TokenCheckMiddleware(verifier: verifier))
///         .add(middleware: try SignatureCheckMiddleware(publicURL: "https://api.example.com"))
///         .post("orders") { request, context in … }
///
/// A token ties its bearer to an app; the signature ties the request to the token. The check verifies with the key that the token names, and
/// finds the signature by that key, never by its label.
///
/// - The signature must cover `@method`, `@target-uri`, the token header and, when there is a body, `content-digest`. A request with a field
///   Content-Digest must cover it even without a body.
/// - It must also cover `authorization` and `content-type` where the request has them, as a session's signatures do: a field that it does
///   not cover may have been added on the way. If your handlers obey further fields, such as Cookie or Content-Encoding, name them in
///   `coveringWherePresent`, and in `additionalFields` of the session's `signing`.
/// - The same signed request passes again until its signature is too old. To let it pass once, also consume limited-use tokens.
/// - The digest is computed from the body as received, so this middleware belongs before one that decompresses bodies. The body is kept in
///   memory, up to a limit; a longer one is answered with 413.
/// - Age and clock difference are bounded. Unknown parameters and unknown digest algorithms are refused.
/// - The check trusts no forwarding header. The host and the scheme of `@target-uri` come from `publicURL`. Without it the scheme is https
///   and the host is the request's own, so that a request that was signed for another name of this server also passes.
public struct SignatureCheckMiddleware<Context: SignatureCheckedRequestContext>: RouterMiddleware {
    private let keys: SignatureKeySource
    private let target: SignatureTarget
    private let requirements: SignatureRequirements
    /// The fields that the signature must cover where the request has them.
    private let optionalFields: [HTTPField.Name]
    private let bodyLimit: Int
    private let passed = Counter(label: "approov_signature_checks", dimensions: [("result", "passed")])
    private let refused = Counter(label: "approov_signature_checks", dimensions: [("result", "refused")])
    /// Bounds the log lines about refused requests, because any caller can cause them.
    private let refusals = LogAllowance()
    /// The clock of the signatures' age and of `refusals`.
    var time: any TimeSource = SystemTimeSource()

    /// Creates a check.
    /// - Parameters:
    ///   - keys: The key that signatures are verified with.
    ///   - publicURL: Scheme, host and port as clients write them, and the path prefix that a proxy removes, if it does; nil when this server
    ///     has one name and terminates TLS itself.
    ///   - header: The name of the token header, which the signature must cover; the one of the `TokenCheckMiddleware`.
    ///   - components: Further components that the signature must cover, such as `.field(.authorization)`.
    ///   - fields: Further header fields that the signature must cover where the request has them, such as `.cookie`.
    ///   - maximumAge: The longest time since a signature was created, in whole seconds, to which `clockSkew` is added.
    ///   - clockSkew: How far the clocks of client and server may differ, in whole seconds. A signature passes for this long after it expired.
    ///   - bodyLimit: The longest body in bytes.
    ///   - acceptsStringSignatures: Whether a signature and a digest may be strings instead of byte sequences, as the OkHttp layer of
    ///     Approov's own SDK sends them in release 3.5.6.
    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when a secret is shorter than 16 bytes, the URL or the header name is
    ///   invalid, or a limit is negative.
    public init(
        keys: SignatureKeySource = .installation, publicURL: String? = nil, header: String = TokenCheckHeaders.standardTokenName,
        alsoCovering components: [SignatureComponent] = [], coveringWherePresent fields: [HTTPField.Name] = [],
        maximumAge: Duration = .seconds(60), clockSkew: Duration = .seconds(30),
        bodyLimit: Int = 2 * 1024 * 1024, acceptsStringSignatures: Bool = false
    ) throws {
        guard keys.isUsable else {
            throw TokenCheckError(.invalidConfiguration, "a key or base secret must have at least 16 bytes; pass the whole one, decoded")
        }
        guard maximumAge >= .zero, clockSkew >= .zero, bodyLimit >= 0 else {
            throw TokenCheckError(.invalidConfiguration, "maximumAge, clockSkew and bodyLimit must not be negative")
        }
        let token = try TokenCheckHeaders(token: header, prefix: "", binding: []).tokenName
        self.keys = keys
        target = try SignatureTarget(publicURL: publicURL)
        var requirements = SignatureRequirements(covering: [.method, .targetURI, .field(token)] + components)
        requirements.maximumAge = maximumAge
        requirements.clockSkew = clockSkew
        requirements.acceptsStringSignatures = acceptsStringSignatures
        self.requirements = requirements
        optionalFields = [.authorization, .contentType] + fields
        self.bodyLimit = bodyLimit
    }

    /// Checks a request.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context, with the verified token; the next handler receives a copy with the verified signature.
    ///   - next: The next handler, called only for requests that pass; its request has the whole body.
    /// - Returns: The next handler's response, 401, or 413 for a body over the limit.
    /// - Throws: ``TokenCheckError`` with code `tokenMissing` when no `TokenCheckMiddleware` precedes this one, and any error of the body's
    ///   stream or the next handler.
    public func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        let token = try context.requireVerifiedToken()
        var (request, context) = (request, context)
        do {
            let key: SignatureVerificationKey
            switch keys.key(for: token.claims) {
            case .success(let found): key = found
            case .failure(let flaw): return refuse(flaw.rawValue, to: context)
            }
            let signature = try SignatureVerifier(keys: [key], requirements: requirements, time: time).verify(
                .request(target.request(request)))
            // A client covers them where they are present, so one that is not covered was added on the way.
            for name in optionalFields where request.headers.contains(name) {
                guard signature.covers(.field(name)) else {
                    throw MessageSignatureError(.insufficientCoverage, "the signature does not cover the request's \(name)")
                }
            }
            // The body is read only now: a caller without a valid signature cannot make the server keep one.
            let digest =
                try signature.covers(SignatureComponent.contentDigest)
                ? ContentDigest.read(from: request.headers, acceptingStrings: requirements.acceptsStringSignatures) : nil
            guard digest != nil || !request.headers.contains(ContentDigest.fieldName) else { throw Self.uncovered }
            guard let body = try await Self.body(of: request, digest: digest, limit: bodyLimit) else {
                refused.increment()
                return Response(status: .contentTooLarge)
            }
            request.body = .init(buffer: body)
            context.verifiedSignature = signature
        } catch let error as MessageSignatureError {
            return refuse("\(error.code)", to: context, ["reason": "\(error.message)"])
        }
        passed.increment()
        return try await next(request, context)
    }

    /// Reads and checks the body.
    ///
    /// - Returns: The body; nil when it is too long.
    /// - Throws: ``MessageSignatureError`` with code `insufficientCoverage` when there is a body without a covered digest, `digestMismatch`
    ///   when it is another body; and any error of the stream.
    private static func body(of request: Request, digest: ContentDigest?, limit: Int) async throws -> ByteBuffer? {
        var body = ByteBuffer()
        var hasher = digest?.hasher
        for try await part in request.body where part.readableBytes > 0 {
            guard hasher != nil else { throw uncovered }
            guard part.readableBytes <= limit - body.readableBytes else { return nil }
            part.withUnsafeReadableBytes { hasher?.update($0) }
            body.writeImmutableBuffer(part)
        }
        if let hasher { try digest?.check(hasher.finalize()) }
        return body
    }

    private static var uncovered: MessageSignatureError {
        MessageSignatureError(
            .insufficientCoverage, "the signature does not cover \"content-digest\", and the request has a body or a digest")
    }

    private func refuse(_ code: String, to context: Context, _ more: Logger.Metadata = [:]) -> Response {
        refused.increment()
        // The operator learns from the code which check failed; the caller learns nothing. The log has names only.
        refusals.notice(
            "signature refused", to: context.logger, at: time.uptime, metadata: ["code": "\(code)"].merging(more) { $1 })
        // RFC 9110, section 15.5.2 requires a challenge. It is not the token check's, because another token would not help.
        return Response(status: .unauthorized, headers: [.wwwAuthenticate: "Approov-Signature"])
    }
}
