internal import ApproovBase
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// The relay's HTTP interface.
///
/// The gateway gets only the media type and the content; the client gets back only the status, the media type and the content. So nothing
/// of a client but its ciphertext reaches the gateway.
struct RelayRoutes: Sendable {
    let link: GatewayLink
    let transport: any HTTPTransport
    let limits: RelayConfiguration.Limits
    let places: ClientPlaces
    let metrics: RelayMetrics
    let logger: Logger
    private let warnings = WarningThrottle<Warning>()
    private let started = ContinuousClock.now

    /// The gateway's host and port, for the log.
    private var gateway: String { "\(link.url.host):\(link.url.port)" }

    /// The failures that the operator is warned of.
    private enum Warning: Hashable {
        case slow
        case unusable(TransportError.Code?)
        case notFound
    }

    /// The most bytes of a message that the relay reads before it forwards the message.
    private static let wholeBytes = 64 * 1024

    func router() -> Router<ConnectionContext> {
        let router = Router(context: ConnectionContext.self, options: .autoGenerateHeadEndpoints)
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
        let body = BorrowedRequestBody(request.body, limit: limit, idleTimeout: limits.idleTimeout, timeout: limits.requestTimeout)
        do {
            // Until then a request takes only its client's own connection and place, so a silent client holds up no other.
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
                metrics.recordForwarded()
                let status = HTTPResponse.Status(code: status)
                if status == .notFound || status == .methodNotAllowed {
                    warn(
                        .notFound, "the gateway's server has no gateway at this URL; check the path of --gateway",
                        ["gateway": "\(gateway)", "status": "\(status.code)"])
                }
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
                // Throwing breaks off the connection, so a client that is still there sees that the answer is incomplete.
                let isOfGateway = (error as? TransportError).map { $0.code != .requestBodyFailed } ?? false
                if isOfGateway { metrics.recordFailure() } else { metrics.recordAbandonment() }
                throw error
            }
            await body.takeBack()
            metrics.recordForwarded()
            // All that a relay knows: the client's address, the type and the size.
            logger.debug(
                "forwarded a message",
                metadata: [
                    "client": "\(context.clientAddress ?? "unknown")", "type": "\(message.requestType)",
                    "responseBytes": "\(bytes)",
                ])
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: message.responseFields, body: content)
    }

    private func refusal(_ status: HTTPResponse.Status, retryAfter seconds: Int? = nil) -> Response {
        metrics.recordRefusal()
        var response = Response.problem(status)
        if let seconds { response.headers[.retryAfter] = String(seconds) }
        return response
    }

    private func answer(to failure: GatewayLink.Failure) -> Response {
        switch failure {
        case .requestTooLarge: return refusal(.contentTooLarge)
        case .requestBroken:
            metrics.recordAbandonment()
            return .problem(.badRequest)
        case .requestStalled:
            metrics.recordAbandonment()
            return .problem(.requestTimeout)
        case .busy: return refusal(.serviceUnavailable, retryAfter: 1)
        case .slow:
            metrics.recordFailure()
            warn(.slow, "the gateway took too long")
            return .problem(.gatewayTimeout)
        case .unusable(let error):
            metrics.recordFailure()
            let remedy = error?.refusal == nil ? "" : "; if its certificate is from your own CA: --cacert root.pem"
            warn(
                .unusable(error?.code), "the gateway gave no usable response\(remedy)",
                ["gateway": "\(gateway)", "error": "\(error?.description ?? "unexpectedStatus")"])
            return .problem(.badGateway)
        }
    }

    /// Logs a warning at most once an hour for each kind: clients can cause it as often as they like, and the metrics count it.
    private func warn(_ subject: Warning, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        if warnings.isDue(subject, at: started.duration(to: .now)) { logger.warning(message, metadata: metadata) }
    }
}
