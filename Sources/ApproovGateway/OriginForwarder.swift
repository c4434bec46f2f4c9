internal import ApproovBase
internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Logging
internal import OHTTP

/// Decides which opened requests are forwarded, and forwards them to their origins.
struct OriginForwarder: Sendable {
    /// The request is a replay.
    struct Replayed: Error {}

    /// A request's content for the transport; the alias avoids the ambiguity with Hummingbird's `RequestBody`.
    typealias Content = RequestBody

    let targets: AllowedTargets
    let window: ReplayWindow
    let transport: any HTTPTransport
    let limits: GatewayConfiguration.Limits
    let time: any TimeSource
    let metrics: GatewayMetrics
    let logger: Logger
    let warnings = WarningThrottle<Warning>()

    /// The conditions that the operator is warned of.
    enum Warning: Hashable {
        case clockSetBack
        case undatedFull
        case datedFull
        case aheadFull
        case noPlace
        case noPlaceForClient
        case forbidden
        /// A request names a key that the gateway does not accept; there are 256 identifiers.
        case unknownKey(UInt8)
        /// An allowed target gives no usable response.
        case target(origin: String, error: String)
    }

    /// Decides whether to forward a request, and remembers it.
    /// - Parameters:
    ///   - head: The request.
    ///   - encapsulatedKey: The request's `enc`.
    ///   - key: The key that it was sealed to.
    /// - Returns: The target.
    /// - Throws: `Replayed`, or the `InnerProblem` to answer.
    func admit(_ head: HTTPRequest, encapsulatedKey: [UInt8], key: ReplayWindow.Key) throws -> TransportURL {
        // Check the target first: requests that are not forwarded must not fill the replay window.
        guard let target = targets.target(of: head) else {
            guard !targets.allowsOrigin(of: head) else {
                metrics.count(.forbidden)
                throw InnerProblem.unusableTarget
            }
            refused(head)
            throw InnerProblem.forbidden
        }
        let dates = head.headerFields[values: .date]
        let date = dates.count == 1 ? HTTPDate.parse(dates[0], now: time.date) : nil
        if date == nil, !dates.isEmpty {
            metrics.count(.date)
            throw InnerProblem.date
        }
        switch window.judge(encapsulatedKey: encapsulatedKey, key: key, date: date, now: time.date, uptime: time.uptime) {
        case .fresh: break
        case .replayed: throw Replayed()
        case .dateNeeded:
            metrics.count(.date)
            if window.isAhead(of: time.date) {
                warn(
                    .clockSetBack,
                    """
                    the clock was set back, so requests dated now are refused as possible replays; clients are told a date, but apps send \
                    a POST again only if that date differs from their clock by more than the replay window; set the clock right; to end \
                    this before the clock has caught up, stop the gateway, remove the file beside its keys whose name ends in .seen, \
                    and start it: requests from the time ahead can then be replayed
                    """
                )
            }
            throw InnerProblem.date
        case .undatedFull:
            metrics.count(.date)
            warn(
                .undatedFull,
                """
                the memory for requests without a Date is full, so they are refused; restart the gateway with --require-date, or rotate its \
                keys with --overlap 0 and then restart it with a larger --remember
                """
            )
            throw InnerProblem.date
        case .full:
            metrics.count(.busy)
            warn(.datedFull, "the memory for requests with a Date is full, so requests are refused; raise --remember")
            throw InnerProblem.busy
        case .aheadFull:
            metrics.count(.busy)
            warn(
                .aheadFull,
                """
                the memory for requests that are dated in the future is full, so requests of clients whose clocks are fast are refused, until \
                those dates are past; raise --remember, or stop the gateway, remove the file beside its keys whose name ends in .seen, and \
                start it: requests dated in the future can then be replayed
                """)
            throw InnerProblem.tooFarAhead
        }
        return target
    }

    /// Counts and logs a request that may not be forwarded, without its origin, which the client chose.
    private func refused(_ head: HTTPRequest) {
        metrics.count(.forbidden)
        // `approov api -check` asks for a name under .invalid, which no host has (RFC 6761, section 6.4).
        guard head.authority?.hasSuffix(".invalid") != true else { return }
        warn(
            .forbidden,
            "a request was refused, because its origin is not one to forward to; if apps should reach it, add it: --allow https://HOST")
    }

    /// Forwards a request to its origin.
    /// - Parameters:
    ///   - head: The request.
    ///   - target: The target.
    ///   - body: The content.
    ///   - isChunked: Whether the response is encapsulated in chunks as it arrives.
    ///   - deadline: The time by which the response must be complete.
    /// - Returns: The response, with its content still to be read.
    /// - Throws: The `InnerProblem` to answer.
    func send(
        _ head: HTTPRequest, to target: TransportURL, body: Content, isChunked: Bool, until deadline: ContinuousClock.Instant
    ) async throws -> TransportResponse {
        var options = TransferOptions()
        options.connectTimeout = limits.connectTimeout
        options.idleTimeout = limits.originIdleTimeout
        // The remaining time: the deadline counts from the request's head, and the content may have arrived slowly.
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
            // The only facts about a request that may be logged: its origin and the status.
            logger.debug("forwarded a request", metadata: ["origin": "\(target.origin)", "status": "\(response.status)"])
            return response
        } catch {
            throw failed(error, target)
        }
    }

    /// Counts and logs a failure to forward a request or its response, without logging anything from the request.
    func failed(_ error: any Error, _ target: TransportURL) -> InnerProblem {
        let problem = InnerProblem(error)
        guard !Self.isOfClient(error) else {
            metrics.count(.abandoned)
            return problem
        }
        guard problem.details.status >= 500 else {
            metrics.count(.malformed)
            return problem
        }
        metrics.count(.failed)
        let error = error as? TransportError
        let code = error?.code.description ?? "unexpectedStatus"
        let remedy = error?.refusal == nil ? "" : "; if its certificate is from your own CA: --cacert root.pem"
        warn(
            .target(origin: target.origin, error: code), "the target gave no usable response\(remedy)",
            ["origin": "\(target.origin)", "error": "\(code)"])
        return problem
    }

    /// Whether the client's side aborted the exchange, which says nothing about the origin.
    static func isOfClient(_ error: any Error) -> Bool {
        switch error {
        case let error as TransportError where error.code == .requestBodyFailed: error.cause.map(isOfClient) ?? false
        // These errors mean that the request itself is bad. All others come from the connection to the relay, or from cancellation.
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

    /// Waits for the longest time that response bytes are held back.
    @Sendable func holdBack() async throws { try await time.sleep(for: ChunkBuffer.longestWait) }

    /// The trailer fields to send to the client; call it after the content has been read to its end.
    func trailers(of response: TransportResponse) -> HTTPFields { ForwardedFields.trailers(response.body.trailerFields) }

    /// The encapsulated response that reports a problem.
    func response(to problem: InnerProblem) -> BinaryHTTPResponse { problem.response(at: now, window: window.seconds) }

    /// The gateway's time, or the earliest date that it accepts if that is later.
    var now: Date { window.acceptableDate(time.date) }

    /// Counts and logs a request that arrived while all request slots were in use.
    func hadNoPlace() {
        metrics.count(.busy)
        warn(
            .noPlace, "the limit of open requests is reached, so further requests are answered 503; check whether a target is slow",
            ["requests": "\(limits.requests)"])
    }

    /// Counts a request that is refused because its client has all the open requests that one may have.
    func hadNoPlaceForClient() {
        metrics.count(.busy)
        warn(
            .noPlaceForClient,
            """
            a client has as many open requests as one client may have, so its further ones are answered 503; if it is your own relay, \
            check whether a target is slow, or raise --requests-per-client
            """, ["requestsPerClient": "\(limits.shareOfClient)"])
    }

    /// Counts a request that cannot be opened, and logs the key that it names if the gateway does not accept that key.
    /// - Parameter id: The identifier of the key if it is not accepted; nil if the gateway has the key or the request names none.
    func unopened(namedKey id: UInt8?) {
        guard let id else { return metrics.count(.unopened) }
        metrics.count(.unknownKey)
        warn(
            .unknownKey(id),
            """
            a request was refused: it was sealed to a key that this gateway does not accept; if apps have this key, publish the present \
            keys: approov oblivious -set -relay URL -keyConfig https://GATEWAY/ohttp-keys
            """,
            ["key": "\(id)"])
    }

    /// Counts and logs that a response could not be sealed, which is a bug.
    func sealingFailed(_ error: any Error) {
        metrics.count(.failed)
        logger.error("a response could not be sealed", metadata: ["error": "\(type(of: error))"])
    }
}
