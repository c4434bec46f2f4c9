internal import ApproovBase
internal import ApproovTokens
internal import Attestation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The authority's HTTP routes.
struct AuthorityRoutes: Sendable {
    /// How long backends may keep the public keys: a minute.
    private static let keysCacheControl = "max-age=60"

    let verifier: AttestationVerifier
    let limiter: AddressRateLimiter?
    let limits: AuthorityConfiguration.Limits
    private let answers = ConfigurationAnswers()

    init(verifier: AttestationVerifier, limiter: AddressRateLimiter?, limits: AuthorityConfiguration.Limits) {
        self.verifier = verifier
        self.limiter = limiter
        self.limits = limits
    }

    func router() -> Router<ConnectionContext> {
        let router = Router(context: ConnectionContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ProblemMiddleware(metrics: verifier.metrics, time: verifier.time))
        router.post("/v1/challenges", use: challenge)
        router.post("/v1/attestations", use: attestation)
        router.get("/v1/configuration", use: configuration)
        router.get("/.well-known/jwks.json", use: keys)
        router.get("/.well-known/custom-jwks.json", use: customKeys)
        router.get("/health") { _, _ in Response.healthy }
        return router
    }

    @Sendable private func challenge(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        // The body is ignored, but it is read, so that a client learns when it is too large.
        _ = try await body(of: request, upTo: limits.otherBodyBytes)
        return Response.json(verifier.challenge().json)
    }

    @Sendable private func attestation(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        let start = ContinuousClock.now
        if let seconds = limiter?.draw(for: context.remoteAddress, now: verifier.time.uptime) { throw RateLimited(seconds: seconds) }
        let (evidence, customClaims) = try await evidence(in: request)
        let result = try await verifier.attest(
            evidence, customClaims: customClaims, from: context.clientAddress, logger: context.logger)
        verifier.metrics.took(ContinuousClock.now - start)
        return Response.json(result.json)
    }

    /// Reads evidence, and the custom claims that may travel beside it.
    private func evidence(in request: Request) async throws -> (evidence: [UInt8], customClaims: [UInt8]?) {
        switch request.headers.mediaType {
        case Evidence.mediaType:
            return (Array(try await body(of: request, upTo: limits.evidenceBytes).readableBytesView), nil)
        case AttestationRequest.mediaType:
            let limit = limits.evidenceBytes + AttestationRequest.maximumBytesBesideEvidence
            let body = Array(try await body(of: request, upTo: limit).readableBytesView)
            guard let content = try? AttestationRequest(json: JSONValue(reading: body, limit: limit)) else {
                throw Problem.evidenceMalformed
            }
            let evidence = Array(content.evidence.utf8)
            guard evidence.count <= limits.evidenceBytes else { throw Problem.bodyTooLarge }
            return (evidence, content.customClaims)
        default:
            throw Problem.wrongMediaType
        }
    }

    @Sendable private func configuration(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        var version: Int64 = 0
        if let since = request.uri.queryParameters["since"] {
            guard let number = Int64(since), number >= 0 else { throw Problem.malformedRequest }
            version = number
        }
        // Older releases do not state the hash.
        let hash = request.uri.queryParameters["hash"].map(String.init)
        if let hash, Base64URL.decode(hash)?.count != 32 { throw Problem.malformedRequest }
        await verifier.noticeConfiguration(version, hash, context.logger)
        let snapshot = verifier.store.snapshot
        let configurations = snapshot.configurations(since: version, hash: hash)
        guard !configurations.isEmpty else { return Response(status: .notModified) }
        return Response.json(answers.bytes(of: configurations, in: snapshot.generation))
    }

    @Sendable private func keys(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        keyList(of: .token)
    }

    @Sendable private func customKeys(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        keyList(of: .custom)
    }

    /// The public keys of the keysets for one use.
    ///
    /// Each use has its own list: a backend that checks tokens with every key of a list, and ignores `typ`, would take a custom JWT for a
    /// token.
    private func keyList(of use: KeysetUse) -> Response {
        let keys = verifier.store.snapshot.keysets.filter { $0.use == use }.compactMap { $0.key.verificationKey.jwkMembers }
        var response = Response.json(.object(["keys": .array(keys)]), mediaType: "application/jwk-set+json")
        response.headers[.cacheControl] = Self.keysCacheControl
        return response
    }

    private func body(of request: Request, upTo limit: Int) async throws -> ByteBuffer {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Problem.bodyTooLarge }
        return try await request.body.collect(upTo: limit)
    }
}
