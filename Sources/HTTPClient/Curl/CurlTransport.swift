@_spi(Internals) import ApproovBase
import CLibCurl
import CertificatePinning
import Foundation
import HTTPTypes
import Synchronization

/// The ``HTTPTransport`` that uses the system's libcurl and OpenSSL; its one thread carries out any number of requests.
///
/// It speaks HTTP/2 with servers that support it, and HTTP/1.1 with the others. If HTTP/2 breaks down at an origin, the transport speaks
/// only HTTP/1.1 with that origin for ten minutes, and repeats an interrupted request once if it is idempotent and its response has not
/// begun. HTTP/2 breaks down in two cases:
///
/// - The server gives up a connection and everything under way on it (GOAWAY). SwiftNIO's servers do so after libcurl 7.88 has ended 200
///   streams with RST_STREAM.
/// - The server resets four streams without a response between them.
///
/// The transport's thread makes all connections. While requests go out one at a time and servers answer within 0.25 ms, the caller's thread
/// sends each request and receives its response, which halves the time of such a request. The caller's thread waits for at most 2 ms; then
/// the transport's thread takes over. If servers answer within 0.125 ms, the caller's thread polls for the response for that long before it
/// sleeps.
///
/// The transport's thread handles the whole request when other requests are under way, when servers take longer to answer, when the process
/// may use only one processor, or when the task prefers its own executor, such as an event loop.
///
/// Environment variables for proxies, trust stores and key logs have no effect. The file that OPENSSL_CONF names is never loaded. If that
/// variable is set, OpenSSL loads no configuration at all, not even the system's.
///
/// The transport ends, with the requests on it, when ``shutdown()`` is called or its last reference is released. The body of a response
/// holds a reference until it is released.
public final class CurlTransport: HTTPTransport, CancellableTransport {
    private let driver: CurlDriver
    private let handles = CurlEasyHandlePool()
    private let library: CurlLibrary
    /// The requests under way.
    private let load: ConcurrencyLimit
    let lookups: LookupCoalescer
    private let forecast: AnswerForecast
    private let heads = LastValue<CurlExchange.RawHead, ResponseHeadParser.Head>()

    /// Starts the transport's thread.
    ///
    /// - Parameter configuration: The transport's limits.
    /// - Throws: ``TransportError`` with code `unsupported` when the linked libcurl is not the OpenSSL flavour or uses another OpenSSL than
    ///   this program, so that certificates could not be pinned; `internalError` when no descriptors or threads are left.
    public convenience init(configuration: CurlTransportConfiguration = CurlTransportConfiguration()) throws {
        let library = CurlLibrary.linked
        try library.requireTrustHook()
        try self.init(configuration: configuration, library: library)
    }

    /// - Parameters:
    ///   - configuration: The transport's limits.
    ///   - library: The libcurl that is linked.
    ///   - answerLimit: How soon answers come that callers wait for, in nanoseconds; 0: they wait for none.
    ///   - longestTurn: How long a caller waits at most, in nanoseconds.
    /// - Throws: ``TransportError`` with code `internalError` when no descriptors or threads are left.
    init(
        configuration: CurlTransportConfiguration, library: CurlLibrary, answerLimit: UInt64 = AnswerForecast.standardLimit,
        longestTurn: UInt64 = CurlDriver.standardTurn
    ) throws(TransportError) {
        self.library = library
        forecast = AnswerForecast(limit: answerLimit)
        load = ConcurrencyLimit(configuration.maximumRequests)
        lookups = LookupCoalescer(
            fetcher: configuration.lookupFetcher, timeout: configuration.lookupTimeout, time: SystemTimeSource())
        driver = try CurlDriver(configuration: configuration, forecast: forecast, longestTurn: longestTurn)
        try CurlThread.start { [driver] in driver.run() }
    }

    var mailbox: CurlMailbox { driver.mailbox }

    deinit { mailbox.post(.stop) }

    /// Ends every request under way with code `shutDown`, closes the connections and ends the thread.
    ///
    /// Later requests fail with the same code.
    public func shutdown() {
        mailbox.post(.stop)
        // Afterwards, so that the next attempt of a request that waited fails.
        lookups.shutDown()
    }

    /// Ends the transfers of a cancelled group, and its requests that wait for look-ups.
    package func cancel(_ group: TransferGroup) {
        mailbox.post(.cancelGroup(group))
        lookups.cancel(group)
    }

    /// Sends a request; see ``HTTPTransport/send(_:)``.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, whose body is still to be read.
    /// - Throws: ``TransportError`` when the request fails; `CancellationError` when the task is cancelled.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let deadline = request.options.totalTimeout.map { ContinuousClock.now + $0 }
        do {
            return try await attempt(request, [:])
        } catch let error as TransportError {
            guard let needed = error.neededLookups else { throw error }
            return try await send(request, lookingUp: needed, after: error, by: deadline)
        }
    }

    /// Sends a request again with the results of look-ups.
    ///
    /// Nothing is sent before the server has been judged, so any request can be sent again after look-ups. Where libcurl had sent one over an
    /// earlier connection, another error than a refusal comes.
    private func send(
        _ request: TransportRequest, lookingUp needed: [TrustLookup], after error: TransportError, by deadline: ContinuousClock.Instant?
    ) async throws -> TransportResponse {
        var (request, needed, error) = (request, needed, error)
        var results: [TrustLookup: TrustLookupResult] = [:]
        var round = 1
        while true {
            results.merge(try await found(needed, for: request, until: deadline)) { $1 }
            if let deadline {
                request.options.totalTimeout = deadline - .now
                guard deadline > .now else {
                    throw TransportError(
                        .totalTimeout, "the request did not end within its total timeout, and nothing was sent; raise the timeout",
                        cause: error, isSafeToRepeat: true)
                }
            }
            let isLast = round == Self.maximumLookupRounds
            do {
                return try await attempt(request, results, isLast: isLast)
            } catch let refusal as TransportError {
                guard !isLast, let further = refusal.neededLookups else { throw refusal }
                (needed, error) = (further, refusal)
                round += 1
            }
        }
    }

    /// The first round asks the first source that each certificate names.
    ///
    /// The second round asks all other sources of the certificates without an answer.
    private static let maximumLookupRounds = 2

    private func found(
        _ needed: [TrustLookup], for request: TransportRequest, until deadline: ContinuousClock.Instant?
    ) async throws -> [TrustLookup: TrustLookupResult] {
        guard let cancellation = request.options.cancellation else {
            return try await lookups.results(of: needed, for: request, until: deadline, over: self)
        }
        return try await cancellation.runInTask { [self] in
            try await lookups.results(of: needed, for: request, until: deadline, over: self)
        }
    }

    private func attempt(
        _ request: TransportRequest, _ lookupResults: [TrustLookup: TrustLookupResult], isLast: Bool = false
    ) async throws -> TransportResponse {
        try Task.checkCancellation()
        let transfer = try prepare(request, terms: terms(of: request, lookupResults, isLast: isLast))
        let cancel: @Sendable () -> Void = { [mailbox] in
            transfer.cancel()
            mailbox.post(.cancel(transfer))
        }
        request.options.cancellation?.attach(cancel)
        let head: CurlExchange.RawHead = try await withTaskCancellationHandler {
            try await answer(to: transfer)
        } onCancel: {
            cancel()
        }
        let body = CurlBodySource(transfer: transfer, transport: self)
        // A head that sets cookies is not kept: they belong only in the jar of its request.
        let parsed = try heads.value(for: head, isKept: { !$0.fields.scan(for: .setCookie) }, make: ResponseHeadParser.parse)
        return TransportResponse(
            status: parsed.status, headerFields: parsed.fields, version: parsed.version, url: request.url, body: ResponseBody(source: body))
    }

    private func answer(to transfer: CurlTransfer) async throws -> CurlExchange.RawHead {
        guard load.count == 0 else {
            forecast.reset()
            start(transfer)
            return try await transfer.exchange.head()
        }
        let begin = CurlLoop.clock()
        // This thread may have to make the content, for example an event loop.
        let isContentReady = !transfer.upload.hasContent || transfer.upload.isSmall
        if isContentReady, driver.mayTakeTurn {
            start(transfer, wakesThread: false)
            if driver.run(for: transfer.exchange) { await Task.yield() }
        } else {
            start(transfer)
        }
        let head = try await transfer.exchange.head()
        forecast.note(start: begin, head: transfer.exchange.headArrival)
        return head
    }

    private func prepare(_ request: TransportRequest, terms: TrustHook.Terms?) throws(TransportError) -> CurlTransfer {
        let upload = try CurlUpload(
            request.body, offersDecoding: request.options.decompresses && !request.headerFields.scan(for: .acceptEncoding))
        if let length = request.options.fileLength, case .file = upload.source, upload.length != length {
            throw TransportError(.requestBodyFailed, "the file to upload changed while the request was prepared; send it again")
        }
        let transfer = try CurlTransfer(handles: handles, upload: upload, request: request, terms: terms)
        try transfer.configure(request, library: library)
        return transfer
    }

    private func terms(
        of request: TransportRequest, _ lookupResults: [TrustLookup: TrustLookupResult], isLast: Bool
    ) throws(TransportError) -> TrustHook.Terms? {
        let (host, policy) = (request.url.host, request.policy)
        let rule: TrustRule
        do throws(TrustRefusal) {
            rule = try policy.rule(for: host)
        } catch {
            throw TransportError(.trustRefused, "the current policy does not allow requests to \(host)", cause: error)
        }
        if request.url.isSecure {
            return TrustHook.Terms(
                host: host, port: request.url.port, rule: rule, defaultAnchors: policy.defaultAnchors, generation: policy.generation,
                lookupResults: lookupResults, isLast: isLast, lookups: lookups, route: LookupRoute(of: request))
        }
        guard !policy.hasRule(for: host) else {
            throw TransportError(.trustRefused, "the policy has a rule for \(host), so plain http is refused; use https")
        }
        return nil
    }

    /// Hands a transfer to the driver.
    ///
    /// - Parameters:
    ///   - transfer: The transfer; it fails if it cannot be handed over.
    ///   - wakesThread: Whether to wake the transport's thread; otherwise the caller must run the loop.
    private func start(_ transfer: CurlTransfer, wakesThread: Bool = true) {
        guard let permit = load.permit() else {
            return transfer.fail(
                TransportError(.tooManyRequests, "\(load.limit) requests are already in progress; send fewer at once, or raise the limit"))
        }
        transfer.permit = consume permit
        // Before the driver starts the transfer, and looks whether it is suspended: it then hears of each later change.
        transfer.options.control?.attach(transfer) { [mailbox, weak transfer] isSuspended in
            guard let transfer else { return }
            mailbox.post(isSuspended ? .suspend(transfer) : .goOn(transfer))
        }
        let accepted = mailbox.post(.start(transfer), wakesThread: wakesThread)
        guard accepted else {
            transfer.permit = nil
            return transfer.fail(TransportError(.shutDown, "the transport was shut down; make a new one"))
        }
        transfer.upload.startProducing { [mailbox] in mailbox.post(.unpause(transfer)) }
    }
}

extension TransportError {
    /// The look-ups without which the server could not be judged; nil if there are none.
    fileprivate var neededLookups: [TrustLookup]? {
        guard let lookups = refusal?.lookups, !lookups.isEmpty else { return nil }
        return lookups
    }
}
