import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP

/// Sends a request over Oblivious HTTP: encodes it as Binary HTTP, seals it for the gateway, and posts it to the relay.
///
/// The channel never resends a request on its own, except when the *encapsulated* response says (a) that the Date was rejected, or (b) that
/// the response was too large and the method is GET or HEAD; the second request then asks for a response in chunks. With automatic
/// chunking, the channel probes an unknown gateway before it sends the first chunked request; the probe contains no request.
///
/// The relay can forge a response outside of the encapsulation, so the channel never resends because of one. Its callers resend once after
/// one such response, ``RelayExchange/Refusal/key``: ``RequestStations`` only with a newer key of the configuration; with the live keys of a
/// session's own route, and in ``ObliviousLoader``, also with the same key if the method is idempotent. At each change of keys, a relay can
/// therefore make a request run twice while the gateway accepts the older key.
struct ObliviousChannel: Sendable {
    /// The maximum size in bytes of a body that is not in chunks.
    static let maximumWholeBytes = 64 << 20
    /// The default User-Agent that relays see; the same for every user of this package.
    static let userAgent = "approov"
    /// The maximum size in bytes of a body that is sent whole to a gateway whose support for chunks is not known.
    private static let usualWholeBytes = 512 << 10
    /// The greatest age of a date, in seconds, that a gateway accepts if it states no other; the default of this package's gateways.
    private static let usualWindow: TimeInterval = 60
    /// How far a date may be ahead of the clock of this package's gateways, in seconds.
    private static let usualLead: TimeInterval = 5
    /// The HTTP version of responses that came over Oblivious HTTP.
    static let version = "OHTTP"
    /// The probe for chunked OHTTP.
    ///
    /// It uses an undefined framing indicator, and is padded to the smallest size class so that the relay cannot tell it from a small
    /// request.
    private static let question = [UInt8](repeating: 0x3f, count: BinaryHTTPPadding.sizeClasses.paddedSize(of: 1))
    /// The maximum number of bytes that a response's head adds to its body.
    static let headAllowance = 1 << 20

    let route: KeyedRoute
    let transport: any HTTPTransport
    let time: any TimeSource
    let userAgent: String
    let memory: GatewayMemory
    /// When the request began; its total timeout counts from here.
    let started: Duration

    init(
        route: KeyedRoute, transport: any HTTPTransport, time: any TimeSource, userAgent: String = ObliviousChannel.userAgent,
        memory: GatewayMemory
    ) {
        self.route = route
        self.transport = transport
        self.time = time
        self.userAgent = userAgent
        self.memory = memory
        started = time.uptime
    }

    /// Sends a request and returns the response from inside the encapsulation.
    ///
    /// - Parameters:
    ///   - request: The request to the host; its trust policy applies to the relay.
    ///   - isStreamed: Whether the caller reads the response part by part, or sends a body of any size.
    /// - Returns: The host's response.
    /// - Throws: ``RelayExchange/Refusal/key`` when the gateway refuses the key; ``ApproovError`` with code `obliviousError` when the relay
    ///   or the gateway fails, `bodyFailed` or `responseTooLarge` when a body is too large; any error of the transport.
    func send(_ request: TransportRequest, isStreamed: Bool) async throws -> TransportResponse {
        if try await !usesChunks(for: request, isStreamed: isStreamed) {
            let response = try await dated(request, encapsulateWhole)
            guard route.chunking == .automatic, response.status == 502 else { return response }
            // A gateway of this package says when a response does not fit, and then it supports chunks.
            let (content, again) = try await peek(response)
            guard Problem.type(in: content) == OHTTPProblemType.responseTooLarge else { return again }
            memory.note(.wanted, behind: route.relay, now: time.uptime)
            guard request.method == .get || request.method == .head, request.body.canBeSentAgain,
                try await understandsChunks(onBehalfOf: request)
            else { return again }
        }
        return try await sendChunked(request)
    }

    /// Sends in chunks, and notes whether the gateway understood them.
    private func sendChunked(_ request: TransportRequest) async throws -> TransportResponse {
        do {
            let response = try await dated(request, encapsulateChunked)
            memory.note(.understood, behind: route.relay, now: time.uptime)
            return response
        } catch RelayExchange.Refusal.form(let status) {
            let isAutomatic = route.chunking == .automatic
            if isAutomatic {
                // 415 is about the media type. 400 and 422 can have other causes, so probe the gateway again when it next matters.
                if status == 415 {
                    memory.note(.refused, behind: route.relay, now: time.uptime)
                } else {
                    memory.forget(route.relay)
                }
            }
            throw ApproovError(
                .obliviousError,
                "the gateway behind \(route.relay.host) answered \(status) to a request in chunks, which is not sent a second time: "
                    + (isAutomatic
                        ? "try again; the next request is sent in a form that the gateway accepts"
                        : "publish that it does not understand chunks, with `approov oblivious -set … -chunked off`"))
        }
    }

    /// Whether a request goes in chunks, as all requests do to a gateway that understands them.
    ///
    /// An unknown gateway is probed only when the request may be too large to go whole, or is streamed.
    private func usesChunks(for request: TransportRequest, isStreamed: Bool) async throws -> Bool {
        switch route.chunking {
        case .always: return true
        case .never: return false
        case .automatic:
            let known = memory.chunks(behind: route.relay, now: time.uptime)
            switch known {
            case .understood: return true
            case .refused: return false
            case .wanted, nil:
                guard known == .wanted || isStreamed || !Self.fitsWhole(request.body) else { return false }
                return try await understandsChunks(onBehalfOf: request)
            }
        }
    }

    /// Whether every gateway accepts the body whole.
    private static func fitsWhole(_ body: RequestBody) -> Bool {
        switch body {
        case .none: true
        case .bytes(let bytes): bytes.count <= usualWholeBytes
        case .file, .stream: false
        }
    }

    /// Probes whether the gateway understands chunks.
    ///
    /// The probe contains no request, so it reaches no host. The content of the encapsulated response does not matter.
    private func understandsChunks(onBehalfOf request: TransportRequest) async throws -> Bool {
        let message: [UInt8]
        let opener: ChunkedResponseOpener
        do {
            let chunked = try route.key.chunkedRequest()
            message = try chunked.sealer.finish(Self.question)
            opener = chunked.response
        } catch {
            throw ApproovError(.obliviousError, "no message can be sealed for the gateway: check its key configuration", cause: error)
        }
        do {
            let outer = try await post(.bytes(message), isChunked: true, for: request)
            var options = request.options
            (options.maximumBodyBytes, options.onDownload) = (RelayExchange.maximumProblemBytes, nil)
            let reader = ChunkedResponseReader(opener, body: outer.body, options: options)
            _ = try await reader.head()
            memory.note(.understood, behind: route.relay, now: time.uptime)
            // Read to the end, so that the request can use the same connection.
            while try await reader.part() != nil {}
            return true
        } catch RelayExchange.Refusal.form {
            memory.note(.refused, behind: route.relay, now: time.uptime)
            return false
        } catch RelayExchange.Refusal.other(let status) {
            // A server that is busy or away for a small probe is so for the request, too. Do not conclude that it cannot understand chunks.
            guard ![429, 502, 503, 504].contains(status) else { throw unexpected(status, isChunked: true) }
            return false
        } catch is ApproovError {
            // The answer is not what was expected, but whole messages may still work.
            return false
        }
    }

    /// Sends with the clock's date and, if the gateway rejects that, once more with the gateway's date (RFC 9458, section 6.5.2).
    ///
    /// The gateway's date is used for that one request only. A request that must not run twice is sent again only if the clocks really
    /// differ. If they agree, the date was right when the request was sent. Then the relay may have delayed the request, or sent it a
    /// second time after its date became too old; in the second case the first copy may have run.
    private func dated(
        _ request: TransportRequest, _ send: (TransportRequest, Date) async throws -> TransportResponse
    ) async throws -> TransportResponse {
        let sent = time.date
        let response = try await send(request, sent)
        let arrived = time.date
        guard response.status == 400 else { return response }
        let (content, again) = try await peek(response)
        guard Problem.type(in: content) == OHTTPProblemType.date, request.body.canBeSentAgain, !request.headerFields.contains(.date),
            let date = response.headerFields[.date].flatMap({ HTTPDate.parse($0, now: arrived) }),
            request.isIdempotent || Self.isClockWrong(at: date, sent: sent, arrived: arrived, window: Self.window(in: content))
        else { return again }
        return try await send(request, date)
    }

    /// Whether a gateway with this date would have rejected a request at the time of sending.
    ///
    /// The relay may delay a response without limit. Even if the clocks agree, the gateway's date can therefore be any time between `sent`
    /// and `arrived`. So a clock that is slow by the window, or by less than a second and the time of the exchange more, is not found out.
    static func isClockWrong(at date: Date, sent: Date, arrived: Date, window: TimeInterval) -> Bool {
        // The request and the gateway both state whole seconds.
        let stated = Date(timeIntervalSince1970: sent.timeIntervalSince1970.rounded(.down))
        return stated.timeIntervalSince(date) >= usualLead + 1
            || date.timeIntervalSince(arrived) + sent.timeIntervalSince(stated) > window
    }

    /// The greatest age of a date, in seconds, that a gateway states in its problem.
    private static func window(in problem: [UInt8]) -> TimeInterval {
        guard let json = try? JSONValue(reading: problem, limit: Problem.maximumBytes),
            let seconds = try? json.integer("window", in: 1...86_400)
        else { return usualWindow }
        return TimeInterval(seconds)
    }

    /// Returns the content of a problem (RFC 9457), empty if the response is not a problem, and the response with its body still unread.
    private func peek(_ response: TransportResponse) async throws -> (content: [UInt8], response: TransportResponse) {
        guard response.headerFields.mediaType == Problem.mediaType else { return ([], response) }
        var start: [UInt8] = []
        var parts = response.body.makeAsyncIterator()
        var isWhole = false
        while !isWhole, start.count <= RelayExchange.maximumProblemBytes {
            if let part = try await parts.next() { start += part } else { isWhole = true }
        }
        let again = TransportResponse(
            status: response.status, headerFields: response.headerFields, version: response.version, url: response.url,
            body: isWhole ? ResponseBody(bytes: start) : ResponseBody(PrefixedBody(prefix: start, rest: parts)))
        return (isWhole ? start : [], again)
    }

    private func encapsulateWhole(_ request: TransportRequest, date: Date) async throws -> TransportResponse {
        let body = try await request.body.collected(upTo: Self.maximumWholeBytes)
        let options = request.options
        let sealed: EncapsulatedRequest
        do {
            let inner = BinaryHTTPRequest(head: HTTPRequest(inside: request, date: date), body: body)
            sealed = try route.key.encapsulate(inner.encoded(padding: .sizeClasses))
        } catch {
            throw ApproovError(.obliviousError, "the request cannot be sealed for the gateway", cause: error)
        }
        let outer = try await sendSealed(.bytes([UInt8](sealed.message)), isChunked: false, for: request, length: body.count)
        let limit = min(options.maximumBodyBytes ?? .max, Self.maximumWholeBytes)
        let answer: [UInt8]
        do {
            answer = try await outer.body.collect(upTo: Self.maximumMessageBytes(forBody: limit))
        } catch let error as TransportError where error.code == .bodyTooLarge {
            throw Self.tooLarge(limit, error)
        }
        let response: BinaryHTTPResponse
        do {
            let limits = BinaryHTTPLimits(fieldSectionBytes: options.maximumHeaderBytes, bodyBytes: limit)
            response = try BinaryHTTPResponse(decoding: sealed.response.open(answer), limits: limits)
        } catch {
            if error.code == .limitExceeded { throw Self.tooLarge(limit, error) }
            throw ApproovError(.obliviousError, "the gateway's response cannot be opened", cause: error)
        }
        options.onDownload?(TransferProgress(completed: response.body.count, total: response.body.count))
        return TransportResponse(
            status: response.head.status.code, headerFields: response.head.headerFields, version: Self.version, url: request.url,
            body: ResponseBody(bytes: [UInt8](response.body)))
    }

    private func encapsulateChunked(_ request: TransportRequest, date: Date) async throws -> TransportResponse {
        let length = try request.body.length
        // For methods that give content a meaning, an empty body is stated as a length of 0 (RFC 9110, section 8.6).
        let hasContent = length != 0 || [.post, .put, .patch].contains(request.method)
        let inner = HTTPRequest(inside: request, date: date, contentLength: hasContent ? length : nil)
        let body: RequestBody
        let opener: ChunkedResponseOpener
        do {
            let chunked = try route.key.chunkedRequest()
            body = try ChunkedRequestWriter(chunked.sealer, time: time).body(of: request, head: inner, length: length)
            opener = chunked.response
        } catch {
            throw ApproovError(.obliviousError, "the request cannot be sealed for the gateway", cause: error)
        }
        let outer = try await sendSealed(body, isChunked: true, for: request, length: length)
        let reader = ChunkedResponseReader(opener, body: outer.body, options: request.options)
        let head = try await reader.head()
        return TransportResponse(
            status: head.status.code, headerFields: head.headerFields, version: Self.version, url: request.url,
            body: ResponseBody(ChunkedResponseBody(reader: reader)))
    }

    /// Sends the sealed request, and reports upload progress if the request was sealed as a whole.
    private func sendSealed(
        _ sealed: RequestBody, isChunked: Bool, for request: TransportRequest, length: Int?
    ) async throws -> TransportResponse {
        do {
            guard case .bytes = sealed, let length, let report = UploadReport(of: request, total: length) else {
                return try await post(sealed, isChunked: isChunked, for: request)
            }
            let response = try await post(sealed, isChunked: isChunked, for: request) { report.advance(to: $0.completed) }
            report.advance(to: length)
            return response
        } catch RelayExchange.Refusal.other(let status) {
            throw unexpected(status, isChunked: isChunked)
        }
    }

    private func unexpected(_ status: Int, isChunked: Bool) -> ApproovError {
        RelayExchange.unexpected(status, from: route.relay, isChunked: isChunked)
    }

    /// Posts the sealed request to the relay, within the time that earlier messages have left.
    private func post(
        _ sealed: RequestBody, isChunked: Bool, for request: TransportRequest, onUpload: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> TransportResponse {
        var request = request
        if let total = request.options.totalTimeout {
            let remaining = total - (time.uptime - started)
            guard remaining > .zero else {
                throw TransportError(.totalTimeout, "the relay and the gateway used up the request's time")
            }
            request.options.totalTimeout = remaining
        }
        return try await RelayExchange(transport: transport, relay: route.relay, userAgent: userAgent)
            .send(sealed, isChunked: isChunked, for: request, onUpload: onUpload)
    }

    /// The maximum size in bytes of a response's message, with its padding, if its body may have `limit` bytes.
    static func maximumMessageBytes(forBody limit: Int) -> Int {
        // Padding adds at most one eighth.
        let (sum, isTooLarge) = limit.addingReportingOverflow(limit / 8 + headAllowance)
        return isTooLarge ? .max : sum
    }

    /// The error for a response that exceeds a limit, which `cause` names.
    static func tooLarge(_ limit: Int?, _ cause: any Error) -> ApproovError {
        let content = limit.map { "its content of \($0) bytes" } ?? "its content"
        return ApproovError(
            .responseTooLarge,
            "the response exceeds a limit, that of \(content) or another: raise that limit, or stream large content with bytes or download",
            cause: cause)
    }
}
