import ApproovBase
import CLibCurl
import CertificatePinning
import Foundation
import HTTPTypes
import Synchronization

/// Bounds of a ``CurlTransport``.
public struct CurlTransportConfiguration: Sendable {
    /// The most connections to one host and port; further requests wait, or share a connection where HTTP/2 is spoken.
    public var maximumConnectionsPerHost = 16
    /// The most idle connections kept for reuse, for each trust policy in use.
    public var maximumIdleConnections = 64
    /// The most HTTP/2 streams at once on a connection, where the server allows as many.
    public var maximumStreamsPerConnection = 256
    /// The longest that a connection takes new requests, busy or idle; from 1 millisecond to 23 days.
    ///
    /// Servers are judged when connections are made: this is how long one goes on unjudged that has expired or was revoked meanwhile.
    /// After that time the connections of a policy are made anew, and requests under way end on the old ones.
    public var maximumConnectionAge: Duration = .seconds(3_600)
    /// The most requests at once, waiting ones included; one more fails with `tooManyRequests`.
    public var maximumRequests = 65_536
    /// What fetches OCSP responses and CRLs that evaluators ask for; nil: an ``HTTPLookupFetcher`` over the transport itself.
    public var lookupFetcher: (any TrustLookupFetching)?
    /// How long the look-ups of one attempt may take together; those that take longer count as failed.
    public var lookupTimeout: Duration = .seconds(10)

    /// The defaults above.
    public init() {}
}

/// The ``HTTPTransport`` on the system's libcurl and OpenSSL: any number of requests over one thread of its own.
///
/// HTTP/2 where the server speaks it, else HTTP/1.1. A server with which HTTP/2 breaks down is spoken to over HTTP/1.1 for ten minutes:
/// one that gives up a connection with what is under way on it (GOAWAY), as SwiftNIO's do after 200 streams that libcurl 7.88 ended its
/// way, or one that resets four streams without an answer between them. A request that can be repeated is, once, and does not fail for
/// it. The environment has no say: proxy, trust-store, key-log and OPENSSL_CONF
/// variables are without effect. It ends, with what runs on it, when it is shut down; or when its last reference goes, of which the body
/// of a response is one until it has been read.
public final class CurlTransport: HTTPTransport {
    fileprivate let mailbox: CurlMailbox
    private let handles = CurlEasyHandlePool()
    private let library: CurlLibrary
    private let load: CurlLoad
    private let lookups: LookupDesk
    private let heads = LastValue<CurlExchange.RawHead, ResponseHeadParser.Head>()

    /// Starts the transport's thread.
    ///
    /// - Parameter configuration: its bounds.
    /// - Throws: `TransportError` `unsupported` when the linked libcurl is not the OpenSSL flavour or another OpenSSL than this
    ///   program's, so that certificates could not be pinned; `internalError` when there are no descriptors or threads left.
    public convenience init(configuration: CurlTransportConfiguration = CurlTransportConfiguration()) throws {
        let library = CurlLibrary.linked
        try library.requireTrustHook()
        try self.init(configuration: configuration, library: library)
    }

    init(configuration: CurlTransportConfiguration, library: CurlLibrary) throws(TransportError) {
        self.library = library
        mailbox = try CurlMailbox()
        load = CurlLoad(limit: configuration.maximumRequests)
        lookups = LookupDesk(fetcher: configuration.lookupFetcher, timeout: configuration.lookupTimeout)
        let epoll = clibcurl_epoll_create()
        guard epoll >= 0 else {
            throw TransportError(.internalError, "no event descriptor: \(String(cString: strerror(errno))); raise the limit of open files")
        }
        do throws(TransportError) {
            try CurlThread.start { [mailbox, load] in
                CurlLoop(epoll: epoll, mailbox: mailbox, load: load, configuration: configuration).run()
            }
        } catch {
            close(epoll)
            throw error
        }
    }

    deinit { mailbox.post(.stop) }

    /// Ends every request under way with `shutDown`, closes the connections and ends the thread.
    ///
    /// Later requests fail.
    public func shutdown() {
        mailbox.post(.stop)
    }

    /// Sends a request; see ``HTTPTransport/send(_:)``.
    ///
    /// - Parameter request: the request.
    /// - Returns: the response, its body to be read.
    /// - Throws: `TransportError`; `CancellationError` when the task is cancelled.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        var results: [TrustLookup: TrustLookupResult] = [:]
        var request = request
        let deadline = request.options.totalTimeout.map { ContinuousClock.now + $0 }
        // Nothing of the request was sent while its server could not be judged, so that it can be sent again, whatever it is.
        for _ in 0..<Self.maximumLookupRounds {
            do {
                return try await attempt(request, results)
            } catch let error as TransportError {
                guard let needed = error.refusal?.lookups, !needed.isEmpty else { throw error }
                results.merge(try await lookups.results(of: needed, for: request, until: deadline, over: self)) { $1 }
                if let deadline {
                    request.options.totalTimeout = deadline - .now
                    guard deadline > .now else {
                        throw TransportError(
                            .totalTimeout, "the request did not end within its total timeout; nothing was sent", cause: error,
                            isSafeToRepeat: true)
                    }
                }
            }
        }
        return try await attempt(request, results, isLast: true)
    }

    /// The first place that a certificate names, then all others of those certificates for which it brought nothing.
    private static let maximumLookupRounds = 2

    private func attempt(
        _ request: TransportRequest, _ lookupResults: [TrustLookup: TrustLookupResult], isLast: Bool = false
    ) async throws -> TransportResponse {
        try Task.checkCancellation()
        let transfer = try prepare(request, terms: terms(of: request, lookupResults, isLast: isLast))
        let head: CurlExchange.RawHead = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                transfer.exchange.expectHead(waiter)
                start(transfer)
            }
        } onCancel: {
            transfer.cancel()
            mailbox.post(.cancel(transfer))
        }
        let body = CurlBodySource(transfer: transfer, transport: self)
        // A cookie is nobody's but its jar's.
        let parsed = try heads.value(for: head, isKept: { !$0.fields.scan(for: .setCookie) }, make: ResponseHeadParser.parse)
        return TransportResponse(
            status: parsed.status, headerFields: parsed.fields, version: parsed.version, url: request.url, body: ResponseBody(source: body))
    }

    private func prepare(_ request: TransportRequest, terms: TrustHook.Terms?) throws(TransportError) -> CurlTransfer {
        let upload = try CurlUpload(
            request.body, offersDecoding: request.options.decompresses && !request.headerFields.scan(for: .acceptEncoding))
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
            throw TransportError(.trustRefused, "\(host) may not be called under the policy in force", cause: error)
        }
        if request.url.isSecure {
            return TrustHook.Terms(
                host: host, port: request.url.port, rule: rule, defaultAnchors: policy.defaultAnchors, generation: policy.generation,
                lookupResults: lookupResults, isLast: isLast)
        }
        guard !policy.hasRule(for: host) else {
            throw TransportError(.trustRefused, "\(host) is evaluated or protected, so it is never called over http; use https")
        }
        return nil
    }

    private func start(_ transfer: CurlTransfer) {
        guard load.enter() else {
            return transfer.fail(
                TransportError(.tooManyRequests, "\(load.limit) requests are under way already; send fewer at once or raise the limit"))
        }
        let accepted = mailbox.post(.start(transfer))
        guard accepted else {
            load.leave()
            return transfer.fail(TransportError(.shutDown, "the transport was shut down"))
        }
        transfer.upload.startProducing { [mailbox] in mailbox.post(.unpause(transfer)) }
    }
}

/// How many requests are under way, against the most there may be.
final class CurlLoad: Sendable {
    let limit: Int
    private let count = Atomic(0)

    init(limit: Int) { self.limit = limit }

    func enter() -> Bool {
        guard count.wrappingAdd(1, ordering: .relaxed).newValue <= limit else {
            leave()
            return false
        }
        return true
    }

    func leave() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }
}

/// The body of a response that libcurl receives.
///
/// Its end, or its being dropped, ends the transfer.
final class CurlBodySource: ResponseBodySource {
    private let transfer: CurlTransfer
    /// Kept: the caller may have let go of it, and of the session that holds it.
    private let transport: CurlTransport

    init(transfer: CurlTransfer, transport: CurlTransport) {
        self.transfer = transfer
        self.transport = transport
    }

    deinit {
        // A message to a transfer that is over does nothing.
        if !transfer.exchange.isOver { transport.mailbox.post(.cancel(transfer)) }
    }

    var trailers: HTTPFields { ResponseHeadParser.trailers(transfer.exchange.trailers) }

    func next() async throws -> [UInt8]? {
        // Copies, because a cancellation may outlive the consumer.
        let (transfer, mailbox) = (transfer, transport.mailbox)
        return try await withTaskCancellationHandler {
            try await transfer.exchange.next { mailbox.post(.unpause(transfer)) }
        } onCancel: {
            mailbox.post(.cancel(transfer))
        }
    }
}
