internal import ApproovBase
internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Logging
internal import OHTTP

/// Judges the requests that a gateway has opened, and forwards them to their origins.
struct OriginForwarder: Sendable {
    /// The request is one that was here before.
    struct Replayed: Error {}

    /// A request's content, for the transport; where Hummingbird is imported, too, there are two types called `RequestBody`.
    typealias Content = RequestBody

    let targets: TargetRules
    let window: ReplayWindow
    let transport: any HTTPTransport
    let limits: GatewayConfiguration.Limits
    let time: any TimeSource
    let metrics: GatewayMetrics
    let logger: Logger
    let warnings = WarningThrottle<Warning>()

    /// What the operator is warned of.
    enum Warning: Hashable {
        case clockSetBack
        case undatedFull
        case datedFull
        case noPlace
        /// A request names a key that the gateway does not accept; there are 256 identifiers.
        case unknownKey(UInt8)
        /// A target that is allowed gives no answer.
        case target(origin: String, error: String)
    }

    /// Judges a request, and remembers it when it is to be forwarded.
    /// - Parameters:
    ///   - head: the request
    ///   - encapsulatedKey: its `enc`
    ///   - keyID: the key that it was sealed to
    /// - Returns: where it goes
    /// - Throws: `Replayed`, or the `InnerProblem` to answer
    func admit(_ head: HTTPRequest, encapsulatedKey: [UInt8], keyID: UInt8) throws -> TransportURL {
        // Before it is remembered: what is not forwarded must not fill the window.
        guard let target = targets.target(of: head) else {
            metrics.count(.forbidden)
            throw InnerProblem.forbidden
        }
        let dates = head.headerFields[values: .date]
        let date = dates.count == 1 ? HTTPDate.parse(dates[0]) : nil
        if date == nil, !dates.isEmpty {
            metrics.count(.date)
            throw InnerProblem.date
        }
        switch window.judge(encapsulatedKey: encapsulatedKey, keyID: keyID, date: date, now: time.date, uptime: time.uptime) {
        case .fresh: break
        case .replayed: throw Replayed()
        case .dateNeeded:
            metrics.count(.date)
            if window.isAhead(of: time.date) {
                warn(.clockSetBack, "the clock was set back, and requests dated now may be replays: restart the gateway once it is right")
            }
            throw InnerProblem.date
        case .undatedFull:
            metrics.count(.date)
            warn(.undatedFull, "no more requests without a Date can be remembered, and they are refused: --remember more, or --rotate")
            throw InnerProblem.date
        case .full:
            metrics.count(.busy)
            warn(.datedFull, "no more requests with a Date can be remembered, and they are refused: --remember more")
            throw InnerProblem.busy
        }
        return target
    }

    /// Forwards a request to its origin.
    /// - Parameters:
    ///   - head: the request
    ///   - target: where it goes
    ///   - body: its content
    ///   - isChunked: whether the response is encapsulated as it comes
    ///   - deadline: when the response must have ended
    /// - Returns: the response, its content to be read
    /// - Throws: the `InnerProblem` to answer
    func send(
        _ head: HTTPRequest, to target: TransportURL, body: Content, isChunked: Bool, until deadline: ContinuousClock.Instant
    ) async throws -> TransportResponse {
        var options = TransferOptions()
        options.connectTimeout = limits.connectTimeout
        options.idleTimeout = limits.originIdleTimeout
        // What is left of the request's time: it began with its head, and its content may have come slowly.
        options.totalTimeout = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline))
        options.maximumHeaderBytes = limits.fieldSectionBytes
        options.maximumBodyBytes = isChunked ? limits.chunkedMessageBytes : limits.messageBytes
        options.decompresses = false
        do {
            let response = try await transport.send(
                TransportRequest(
                    url: target, method: head.method, headerFields: ForwardedFields.toOrigin(head.headerFields), body: body,
                    policy: targets.policy, options: options))
            guard (200...599).contains(response.status) else { throw InnerProblem.badGateway }
            // All of it that may be kept: which origin, and how it went.
            logger.debug("forwarded a request", metadata: ["origin": "\(target.origin)", "status": "\(response.status)"])
            return response
        } catch {
            throw failed(error, target)
        }
    }

    /// Counts and logs what went wrong on the way to an origin or back, without a word of the request.
    func failed(_ error: any Error, _ target: TransportURL) -> InnerProblem {
        let problem = InnerProblem(error)
        guard !Self.isOfClient(error) else {
            metrics.count(.abandoned)
            return problem
        }
        guard problem.status >= 500 else {
            metrics.count(.malformed)
            return problem
        }
        metrics.count(.failed)
        let code = (error as? TransportError)?.code.description ?? "unexpectedStatus"
        warn(
            .target(origin: target.origin, error: code), "the target gave no usable answer",
            ["origin": "\(target.origin)", "error": "\(code)"])
        return problem
    }

    /// Whether the client's side broke off, which says nothing of the origin.
    static func isOfClient(_ error: any Error) -> Bool {
        switch error {
        case let error as TransportError where error.code == .requestBodyFailed: error.cause.map(isOfClient) ?? false
        // What opens and bounds a request says that it is no good; the rest is the connection to the relay, or the end of its handler.
        case is TransportError, is InnerProblem, is OHTTPError, is BorrowedRequestBody.TooLong, is ChunkedRequestReader.ChunkTooLarge: false
        default: true
        }
    }

    private func warn(_ subject: Warning, _ message: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        if warnings.isDue(subject, at: time.uptime) { logger.warning(message, metadata: metadata) }
    }

    /// The head of a response as a client gets it.
    func head(of response: TransportResponse) -> HTTPResponse {
        HTTPResponse(status: .init(code: response.status), headerFields: ForwardedFields.toClient(response.headerFields))
    }

    /// Returns when bytes of a response have been held back for long enough.
    @Sendable func holdBack() async throws { try await time.sleep(for: ChunkBuffer.longestWait) }

    /// The trailer fields of a response that was read to its end, as a client gets them.
    func trailers(of response: TransportResponse) -> HTTPFields { ForwardedFields.trailers(response.body.trailerFields) }

    /// The gateway's time, or the first that it accepts of a request.
    var now: Date { window.acceptableDate(time.date) }

    /// Counts and logs that a request came while as many as may be were under way.
    func hadNoPlace() {
        metrics.count(.busy)
        warn(
            .noPlace, "as many requests as may be are under way, and further ones are answered 503: is a target slow?",
            ["requests": "\(limits.requests)"])
    }

    /// Counts a request that cannot be opened, and logs which key it names when the gateway does not accept that key.
    /// - Parameter id: the identifier of a key that is not accepted; nil when the gateway has that key, or the request names none
    func unopened(namedKey id: UInt8?) {
        guard let id else { return metrics.count(.unopened) }
        metrics.count(.unknownKey)
        warn(
            .unknownKey(id),
            """
            a request was refused: it was sealed to a key that this gateway does not accept. If apps have this key, publish the present \
            keys: approov oblivious -set -relay URL -keyConfig https://GATEWAY/ohttp-keys
            """,
            ["key": "\(id)"])
    }

    /// Counts and logs that a response could not be sealed, which is a defect.
    func sealingFailed(_ error: any Error) {
        metrics.count(.failed)
        logger.error("a response could not be sealed", metadata: ["error": "\(type(of: error))"])
    }
}
