import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP

/// Sends a request inside Oblivious HTTP: Binary HTTP, sealed for the gateway, posted to the relay.
///
/// It sends nothing twice on its own account, with two exceptions, both said inside of the encapsulation: the gateway does not accept the
/// date; or the host has answered, and its response did not fit: then a GET or HEAD is sent again for a response in chunks. Whether a gateway
/// knows chunks it is asked before the first request goes there in them: an answer outside of the encapsulation, which the relay may have
/// made up, has no request sent again. Whoever uses it sends a request once more for one such answer: that the key is refused, once a newer
/// key is there, so that a relay can have a request run twice at each change of keys, while the older one is accepted.
struct ObliviousChannel: Sendable {
    /// The most bytes of a body that is not in chunks.
    static let maximumWholeBytes = 64 << 20
    /// What relays see of every user of this package.
    static let userAgent = "approov"
    /// The most bytes of a body that goes whole to a gateway of which nothing is known.
    private static let usualWholeBytes = 512 << 10
    /// How old a date gateways of this package accept, in seconds, unless their operator says otherwise.
    private static let usualWindow: TimeInterval = 60
    /// How far ahead of their clock a date may be, in seconds; two more because dates have whole ones.
    private static let usualLead: TimeInterval = 7
    /// How gateways of this package say that a response needs chunks.
    private static let responseTooLarge = "urn:approov:problem:response-too-large"
    /// What responses say their version is.
    static let version = "OHTTP"
    /// What asks a gateway whether it understands chunks: of no framing that there is, and for the relay as long as a small request.
    private static let question = [UInt8](repeating: 0x3f, count: BinaryHTTPPadding.sizeClasses.paddedSize(of: 1))
    /// What a response's head may add to its body.
    private static let headAllowance = 1 << 20

    let route: ObliviousRoute
    let transport: any HTTPTransport
    let time: any TimeSource
    let userAgent: String
    let memory: GatewayMemory
    /// When the request began whose time is counted.
    let started: Duration

    init(
        route: ObliviousRoute, transport: any HTTPTransport, time: any TimeSource, userAgent: String = ObliviousChannel.userAgent,
        memory: GatewayMemory
    ) {
        self.route = route
        self.transport = transport
        self.time = time
        self.userAgent = userAgent
        self.memory = memory
        started = time.uptime
    }

    /// Sends a request and returns the response that was inside.
    ///
    /// - Parameters:
    ///   - request: The request to the host; its policy judges the relay.
    ///   - isStreamed: Whether the caller takes the response part by part, or sends a body of any size.
    /// - Returns: The host's response.
    /// - Throws: ``RelayExchange/Refusal`` `key`; ``ApproovError`` `obliviousError`; what the transport throws.
    func send(_ request: TransportRequest, isStreamed: Bool) async throws -> TransportResponse {
        if try await !usesChunks(for: request, isStreamed: isStreamed) {
            let response = try await dated(request, sendWhole)
            guard route.chunking == .automatic, response.status == 502 else { return response }
            // A gateway of ours says when a response does not fit; then it knows chunks.
            let (problem, again) = try await peek(response)
            guard problem == Self.responseTooLarge else { return again }
            memory.note(.wanted, behind: route.relay, now: time.uptime)
            guard request.method == .get || request.method == .head, request.body.canBeSentAgain,
                try await understandsChunks(onBehalfOf: request)
            else { return again }
        }
        return try await sendInChunks(request)
    }

    private func sendInChunks(_ request: TransportRequest) async throws -> TransportResponse {
        do {
            let response = try await dated(request, sendChunked)
            memory.note(.understood, behind: route.relay, now: time.uptime)
            return response
        } catch RelayExchange.Refusal.form(let status) {
            let isAutomatic = route.chunking == .automatic
            if isAutomatic {
                // 415 is about the media type. 400 and 422 may be about anything: the gateway is asked anew when it matters next.
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
                        ? "try again, and the next one goes as the gateway wants it by then"
                        : "publish that it knows none with `approov oblivious -set … -chunked off`"))
        }
    }

    /// Whether a request goes in chunks: all that go to a gateway that understands them.
    ///
    /// One of which nothing is known yet is asked for the sake of what may not fit a whole message, and of what is streamed.
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

    /// Whether a body fits a whole message at any gateway.
    private static func fitsWhole(_ body: RequestBody) -> Bool {
        switch body {
        case .none: true
        case .bytes(let bytes): bytes.count <= usualWholeBytes
        case .file, .stream: false
        }
    }

    /// Asks the gateway whether it understands chunks, with a message that is no request: what it then says inside of the encapsulation
    /// does not matter, and no host hears of it.
    private func understandsChunks(onBehalfOf request: TransportRequest) async throws -> Bool {
        let message: [UInt8]
        let opener: ChunkedResponseOpener
        do {
            let chunked = try route.key.chunkedRequest()
            message = try chunked.sealer.finish(Self.question)
            opener = chunked.response
        } catch {
            throw ApproovError(.obliviousError, "nothing can be sealed for the gateway", cause: error)
        }
        do {
            let outer = try await post(.bytes(message), isChunked: true, for: request)
            var options = request.options
            (options.maximumBodyBytes, options.onDownload) = (RelayExchange.maximumProblemBytes, nil)
            let reader = ChunkedResponseReader(opener, body: outer.body, options: options)
            _ = try await reader.head()
            memory.note(.understood, behind: route.relay, now: time.uptime)
            // To its end, so that the request can go over the same connection.
            while try await reader.part() != nil {}
            return true
        } catch RelayExchange.Refusal.form {
            memory.note(.refused, behind: route.relay, now: time.uptime)
            return false
        } catch RelayExchange.Refusal.other(let status) {
            // Who is busy or away for a small question is so for the request, and would be blamed for what he may well know.
            guard ![429, 502, 503, 504].contains(status) else { throw unexpected(status, isChunked: true) }
            return false
        } catch is ApproovError {
            // Not what was asked, but whole messages may work.
            return false
        }
    }

    /// Sends with the clock's date and, when the gateway refuses that, once more with the gateway's (RFC 9458 section 6.5.2).
    ///
    /// The gateway's date serves that one request and nothing else. What must not run twice is sent again only where the clocks really differ.
    /// Where they agree, the date was right when the request was sent, and somebody has held the request back, or sent it a second time once
    /// its date was too old, when the first may have run: the relay could do both.
    private func dated(
        _ request: TransportRequest, _ send: (TransportRequest, Date) async throws -> TransportResponse
    ) async throws -> TransportResponse {
        let sent = time.date
        let response = try await send(request, sent)
        let arrived = time.date
        guard response.status == 400 else { return response }
        let (problem, again) = try await peek(response)
        guard problem == OHTTPProblemType.date, request.body.canBeSentAgain, !request.headerFields.contains(.date),
            let date = response.headerFields[.date].flatMap(HTTPDate.parse),
            request.isIdempotent || Self.isClockWrong(at: date, sent: sent, arrived: arrived)
        else { return again }
        return try await send(request, date)
    }

    /// Whether a gateway with this date would not have accepted a request when that was sent.
    ///
    /// The relay may hold an answer back for as long as it likes, so that the gateway's date can be any between the two times although the
    /// clocks agree.
    private static func isClockWrong(at date: Date, sent: Date, arrived: Date) -> Bool {
        date.timeIntervalSince(arrived) > usualWindow || sent.timeIntervalSince(date) > usualLead
    }

    /// The type of a problem (RFC 9457), nil when the response is none, and the response with its body as it was.
    private func peek(_ response: TransportResponse) async throws -> (type: String?, response: TransportResponse) {
        guard response.headerFields.mediaType == Problem.mediaType else { return (nil, response) }
        var start: [UInt8] = []
        var parts = response.body.makeAsyncIterator()
        var isWhole = false
        while !isWhole, start.count <= RelayExchange.maximumProblemBytes {
            if let part = try await parts.next() { start += part } else { isWhole = true }
        }
        let again = TransportResponse(
            status: response.status, headerFields: response.headerFields, version: response.version, url: response.url,
            body: isWhole ? ResponseBody(bytes: start) : ResponseBody(PrefixedBody(prefix: start, rest: parts)))
        guard isWhole, let problem = try? JSONValue(parsing: start, limit: RelayExchange.maximumProblemBytes).object(),
            case .string(let name)? = problem["type"]
        else { return (nil, again) }
        return (name, again)
    }

    private func sendWhole(_ request: TransportRequest, date: Date) async throws -> TransportResponse {
        let body = try await request.body.collected(upTo: Self.maximumWholeBytes)
        let options = request.options
        let sealed: EncapsulatedRequest
        do {
            let inner = BinaryHTTPRequest(head: HTTPRequest(inside: request, date: date), body: body)
            sealed = try route.key.encapsulate(inner.encoded(padding: .sizeClasses))
        } catch {
            throw ApproovError(.obliviousError, "the request cannot be sealed for the gateway", cause: error)
        }
        let outer = try await send(.bytes([UInt8](sealed.message)), isChunked: false, for: request, length: body.count)
        let limit = min(options.maximumBodyBytes ?? .max, Self.maximumWholeBytes)
        let answer: [UInt8]
        do {
            // Padding adds an eighth at most.
            answer = try await outer.body.collect(upTo: limit + limit / 8 + Self.headAllowance)
        } catch let error as TransportError where error.code == .bodyTooLarge {
            throw Self.tooLarge(limit)
        }
        let response: BinaryHTTPResponse
        do {
            let limits = BinaryHTTPLimits(fieldSectionBytes: options.maximumHeaderBytes, bodyBytes: limit)
            response = try BinaryHTTPResponse(decoding: sealed.response.open(answer), limits: limits)
        } catch {
            if error.code == .limitExceeded { throw Self.tooLarge(limit) }
            throw ApproovError(.obliviousError, "the gateway's response cannot be opened", cause: error)
        }
        options.onDownload?(TransferProgress(completed: response.body.count, total: response.body.count))
        return TransportResponse(
            status: response.head.status.code, headerFields: response.head.headerFields, version: Self.version, url: request.url,
            body: ResponseBody(bytes: [UInt8](response.body)))
    }

    private func sendChunked(_ request: TransportRequest, date: Date) async throws -> TransportResponse {
        let length = try request.body.length
        // Methods that give content a meaning say that there is none (RFC 9110 section 8.6).
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
        let outer = try await send(body, isChunked: true, for: request, length: length)
        let reader = ChunkedResponseReader(opener, body: outer.body, options: request.options)
        let head = try await reader.head()
        return TransportResponse(
            status: head.status.code, headerFields: head.headerFields, version: Self.version, url: request.url,
            body: ResponseBody(ChunkedResponseBody(reader: reader)))
    }

    /// Sends what was sealed, and reports what of it has gone out where it was sealed at once.
    private func send(
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

    /// Posts what was sealed to the relay, within what earlier messages have left of the request's time.
    private func post(
        _ sealed: RequestBody, isChunked: Bool, for request: TransportRequest, onUpload: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> TransportResponse {
        var request = request
        if let total = request.options.totalTimeout {
            let remaining = total - (time.uptime - started)
            guard remaining > .zero else {
                throw TransportError(.totalTimeout, "the relay and the gateway took all of the request's time")
            }
            request.options.totalTimeout = remaining
        }
        return try await RelayExchange(transport: transport, relay: route.relay, userAgent: userAgent)
            .send(sealed, isChunked: isChunked, for: request, onUpload: onUpload)
    }

    private static func tooLarge(_ limit: Int) -> ApproovError {
        ApproovError(.responseTooLarge, "the response is larger than \(limit) bytes: raise the limit, or stream it with bytes or download")
    }
}
