internal import ApproovBase
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// The relay's HTTP face.
///
/// To the gateway goes the media type and the content, and back come the status, the media type and the content; so nothing of a client
/// but its ciphertext reaches the gateway.
struct RelayRoutes: Sendable {
    let link: GatewayLink
    let transport: any HTTPTransport
    let limits: RelayConfiguration.Limits
    let places: ClientPlaces
    let metrics: RelayMetrics
    let logger: Logger
    private let warnings = WarningThrottle<Warning>()
    private let started = ContinuousClock.now

    /// What the operator is warned of.
    private enum Warning: Hashable {
        case slow
        case unusable(TransportError.Code?)
    }

    /// The most bytes of a message that are here before it is forwarded.
    private static let wholeBytes = 64 * 1024

    func router() -> Router<ConnectionContext> {
        let router = Router(context: ConnectionContext.self)
        router.add(middleware: PlainErrors(methods: ["/": "POST", "/health": "GET"]))
        router.post("/", use: relay)
        router.get("/health") { _, _ in Response.healthy }
        return router
    }

    @Sendable private func relay(_ request: Request, _ context: ConnectionContext) async throws -> Response {
        guard let message = EncapsulatedMessage(requestType: request.headers.mediaType) else {
            return refusal(.unsupportedMediaType)
        }
        let limit = message.bytes(in: limits)
        let length = request.headers[.contentLength].flatMap { Int($0) }
        if let length, length > limit { return refusal(.contentTooLarge) }
        let deadline = ContinuousClock.now + limits.requestTimeout
        guard let place = places.enter(context.remoteAddress) else { return refusal(.tooManyRequests, retryAfter: 1) }
        let body = BorrowedRequestBody(request.body, limit: limit, idleTimeout: limits.idleTimeout, deadline: deadline)
        do {
            // Until then it takes no more than its client's own connection and place: whoever stays silent holds up nobody else.
            try await body.readAhead(message == .whole ? Self.wholeBytes : 1)
        } catch {
            return answer(to: GatewayLink.ofRequest(error))
        }
        do throws(GatewayLink.Failure) {
            let answer = try await link.forward(message, length: length, body: body, until: deadline, over: transport)
            switch answer {
            case .encapsulated(let response, let message):
                return stream(response, message, whileReading: body, holding: place, for: context)
            case .refusal(let status, let problem):
                defer { withExtendedLifetime(place) {} }
                await body.takeBack()
                metrics.wasForwarded()
                let status = HTTPResponse.Status(code: status)
                return problem.isEmpty ? .problem(status) : .problem(status, problem)
            }
        } catch {
            await body.takeBack()
            return answer(to: error)
        }
    }

    private func stream(
        _ response: TransportResponse, _ message: EncapsulatedMessage, whileReading body: BorrowedRequestBody,
        holding place: ClientPlaces.Place, for context: ConnectionContext
    ) -> Response {
        let length = response.headerFields[.contentLength].flatMap { Int($0) }
        let content = ResponseBody(contentLength: length) { writer in
            defer { withExtendedLifetime(place) {} }
            var bytes = 0
            var backpressure = WriteBackpressure(context.eventLoop)
            do {
                for try await part in response.body {
                    bytes += part.count
                    try await writer.write(ByteBuffer(bytes: part))
                    try await backpressure.wrote(part.count)
                }
            } catch {
                // The client sees an answer that is not whole, if it is there yet: the connection, or the stream, is broken off.
                let isOfGateway = (error as? TransportError).map { $0.code != .requestBodyFailed } ?? false
                if isOfGateway { metrics.hasFailed() } else { metrics.wasAbandoned() }
                throw error
            }
            await body.takeBack()
            metrics.wasForwarded()
            // All that a relay knows: who, and how much.
            logger.debug(
                "forwarded a message",
                metadata: [
                    "client": "\(context.remoteAddress?.ipAddress ?? "unknown")", "type": "\(message.requestType)",
                    "responseBytes": "\(bytes)",
                ])
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: message.responseFields, body: content)
    }

    private func refusal(_ status: HTTPResponse.Status, retryAfter seconds: Int? = nil) -> Response {
        metrics.wasRefused()
        var response = Response.problem(status)
        if let seconds { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    private func answer(to failure: GatewayLink.Failure) -> Response {
        switch failure {
        case .requestTooLarge: return refusal(.contentTooLarge)
        case .requestBroken:
            metrics.wasAbandoned()
            return .problem(.badRequest)
        case .requestStalled:
            metrics.wasAbandoned()
            return .problem(.requestTimeout)
        case .busy: return refusal(.serviceUnavailable, retryAfter: 1)
        case .slow:
            metrics.hasFailed()
            warn(.slow, "the gateway took too long")
            return .problem(.gatewayTimeout)
        case .unusable(let error):
            metrics.hasFailed()
            let remedy = error?.refusal == nil ? "" : "; for a certificate of your own CA: --cacert root.pem"
            warn(
                .unusable(error?.code), "the gateway gave no usable answer\(remedy)",
                ["gateway": "\(link.url.host):\(link.url.port)", "error": "\(error?.description ?? "unexpectedStatus")"])
            return .problem(.badGateway)
        }
    }

    /// Once an hour for each kind: clients can cause it as often as they like, and the metrics count it.
    private func warn(_ subject: Warning, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        if warnings.isDue(subject, at: started.duration(to: .now)) { logger.warning(message, metadata: metadata) }
    }
}
