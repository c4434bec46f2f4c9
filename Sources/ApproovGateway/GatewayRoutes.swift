internal import ApproovBase
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// The gateway's HTTP routes.
struct GatewayRoutes: Sendable {
    /// How long clients may keep the published keys: an hour, much less than the time for which replaced keys are still accepted.
    private static let keysCacheControl = "public, max-age=3600"

    let keys: ReloadingKeyring
    let forwarder: OriginForwarder
    /// The requests under way.
    let load: ConcurrencyLimit
    /// The share of each client.
    let places: ClientPlaces

    func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: PlainErrors(methods: ["/gateway": "POST", "/ohttp-keys": "GET", "/health": "GET"]))
        router.post("/gateway", use: open)
        router.get("/ohttp-keys") { _, _ in
            Response(
                status: .ok, headers: [.contentType: OHTTPMediaType.keys, .cacheControl: Self.keysCacheControl],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: keys.current.published)))
        }
        router.get("/health") { _, _ in Response.healthy }
        return router
    }

    @Sendable private func open(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let type = request.headers.mediaType
        guard type == OHTTPMediaType.request || type == OHTTPMediaType.chunkedRequest else {
            return forwarder.refusal(.unsupportedMediaType)
        }
        let isChunked = type == OHTTPMediaType.chunkedRequest
        let limit = isChunked ? forwarder.limits.chunkedMessageBytes : forwarder.limits.messageBytes
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            return forwarder.refusal(.contentTooLarge)
        }
        let deadline = ContinuousClock.now + (isChunked ? forwarder.limits.chunkedRequestTimeout : forwarder.limits.requestTimeout)
        // The listener's own limit is the one for chunked requests.
        if !isChunked { context.timeLimit.set(deadline + forwarder.limits.grace) }
        let body = BorrowedRequestBody(
            request.body, limit: limit, idleTimeout: forwarder.limits.idleTimeout,
            // The gateway must be able to forward a chunked request within this time, so that one that drips cannot keep its place.
            timeout: isChunked ? forwarder.limits.idleTimeout : forwarder.limits.requestTimeout)
        do {
            // Take a slot only after the first content byte: until then a silent client uses nothing but its own connection.
            try await body.readAhead(1)
        } catch {
            return forwarder.unread(error)
        }
        guard let permit = load.permit() else {
            forwarder.hadNoPlace()
            return .problem(.serviceUnavailable)
        }
        let shared = ConcurrencyLimit.SharedPermit(permit)
        guard let place = places.enter(context.remoteAddress) else {
            forwarder.hadNoPlaceForClient()
            return .problem(.serviceUnavailable)
        }
        let slot = RequestSlot(shared, place)
        return isChunked
            ? await ChunkedExchange(forwarder: forwarder, slot: slot, body: body, eventLoop: context.eventLoop, deadline: deadline)
                .answer(with: keys)
            : await WholeExchange(forwarder: forwarder, slot: slot, body: body, eventLoop: context.eventLoop, deadline: deadline)
                .answer(with: keys)
    }
}

extension OriginForwarder {
    /// Counts and answers a request that is refused unopened.
    func refusal(_ status: HTTPResponse.Status) -> Response {
        metrics.count(.refused)
        return .problem(status)
    }

    /// Counts and answers a request whose content could not be read.
    func unread(_ error: any Error) -> Response {
        if error is BorrowedRequestBody.TooLong { return refusal(.contentTooLarge) }
        metrics.count(.abandoned)
        return .problem(error is BorrowedRequestBody.Stalled ? .requestTimeout : .badRequest)
    }
}

extension Response {
    /// The one response to a request that cannot be opened, and to a replayed request (RFC 9458, section 5.3).
    static var unknownKey: Response {
        problem(
            ProblemDetails(type: OHTTPProblemType.key, status: 400, title: "The request cannot be opened with a key of this gateway"))
    }
}
