import ApproovBase
import CLibCurl
import CertificatePinning
import Glibc
import HTTPTypes
import Synchronization

/// One request in libcurl: its easy handle, and the state that libcurl's callbacks read and write.
///
/// `@unchecked Sendable`: the requesting task makes and fills it, then hands it to the driver through the mailbox. From then on the task
/// touches only `exchange`, `upload` and the cancellation flag, which are safe to share. Everything else belongs to the thread that runs
/// the loop and so holds the lock of ``CurlDriver``.
final class CurlTransfer: @unchecked Sendable {
    let easy: CurlEasyHandle
    let exchange = CurlExchange()
    let upload: CurlUpload
    let policy: TrustPolicy
    let terms: TrustHook.Terms?
    let options: TransferOptions
    let isIdempotent: Bool
    let isHead: Bool
    let url: TransportURL
    /// Counts the transfer among those under way; the driver releases it when it has taken the transfer out of libcurl.
    var permit: ConcurrencyLimit.Permit?

    // Used only by the thread that runs the loop.
    unowned(unsafe) var loop: CurlLoop?
    var activeIndex = -1
    var poolNumber: UInt32 = 0
    /// When the last byte moved, in the driver's nanoseconds.
    var lastActivity: UInt64 = 0
    /// When the total timeout ends the transfer, in the driver's nanoseconds.
    ///
    /// libcurl's own timeout does not count the wait for a connection, and begins again with a restart.
    private(set) var deadline: UInt64 = .max
    /// The hook of the connection that was made for this transfer; it may hold a refusal.
    var hook: TrustHook?
    /// The hook of the connection that the request went out on.
    private(set) var connection: TrustHook?
    /// Why a callback ended the transfer; libcurl reports only that a callback ended it.
    var failure: (any Error)?
    /// Whether the request was handed to a connection; a second time would be a resend.
    var wasSent = false
    /// Whether that connection speaks HTTP/2.
    private(set) var isOnHTTP2Connection = false
    /// The ends of that connection; nil before.
    private(set) var ends: ConnectionEnds?
    private(set) var head = CurlExchange.RawHead()
    private var trailers: [UInt8] = []
    private var headerBytes = 0
    private(set) var isHeadComplete = false
    /// Whether the head that came last belongs to an interim response (RFC 9110, section 15.2), so that another one follows.
    private var isInterim = false
    /// When the caller suspended the transfer, in the driver's nanoseconds; nil while it runs.
    var suspendedAt: UInt64?
    /// Whether libcurl holds content of the response that a callback did not take, until the driver ends the pause.
    var holdsContent = false
    /// Whether the response was ever paused.
    var wasPaused = false
    /// Whether the upload that the server no longer wants was unpaused.
    var isUploadUnpaused = false
    /// Whether the transfer is in the loop's list of answered uploads.
    var isListed = false
    /// Whether the requesting task has received the head.
    private var isHeadDelivered = false
    /// Whether a response that libcurl reports as complete may have lost its content with the connection.
    var isDoubtful = false
    /// Whether the server has refused a request with content over HTTP/2; the transfer then ends with the response.
    private(set) var isRefused = false
    private var hasEndedWell = false
    private var wasRestarted = false
    /// Whether an address was refused before a connection was made to it.
    private(set) var hasRefusedAddress = false
    /// Why the system gave no socket for a connection; nil if it did.
    private(set) var socketError: Int32?
    /// Whether the server had ended the connection that libcurl chose before anything of the request went out.
    private(set) var foundConnectionEnded = false
    private(set) var bodyBytes = 0
    private var expectedBodyBytes: Int?

    private let handles: CurlEasyHandlePool
    private let cancellation = Atomic(false)

    init(
        handles: CurlEasyHandlePool, upload: CurlUpload, request: borrowing TransportRequest, terms: TrustHook.Terms?
    ) throws(TransportError) {
        self.handles = handles
        easy = try handles.take()
        self.upload = upload
        self.terms = terms
        policy = request.policy
        options = request.options
        isIdempotent = request.isIdempotent
        isHead = request.method == .head
        url = request.url
        // Here, and not by the driver, because a requesting task frees it, and threads that free each other's memory wait for the
        // allocator's lock. Most heads fit.
        head.bytes.reserveCapacity(512)
    }

    deinit {
        // A failed attempt may leave state in the handle that we cannot see (7.88 counts the streams that wait to be read there), so only a
        // handle that ended well is used again.
        if hasEndedWell { return handles.give(back: easy) }
        easy.forgetRequest()
        if wasPaused, isOnHTTP2Connection { easy.freeHeldContent() }
    }

    /// Whether the requesting task was cancelled, which may happen before the driver hears of the transfer.
    var isCancelled: Bool { cancellation.load(ordering: .relaxed) }

    /// Notes that the request was cancelled.
    ///
    /// The driver must be told by a message as well.
    func cancel() { cancellation.store(true, ordering: .relaxed) }

    // MARK: libcurl's callbacks, on the thread that runs the loop

    /// Installs the trust hook in the connection that libcurl is about to make for this transfer.
    func connectionWillHandshake(_ context: OpaquePointer) -> Bool {
        guard let terms else { return false }
        let hook = TrustHook(terms)
        self.hook = hook
        loop?.goAwayWatch.install(in: context)
        return hook.install(in: context)
    }

    /// Whether a connection may be made to an address.
    func mayConnect(to address: UnsafeRawPointer, count: Int) -> Bool {
        guard options.refusesPrivateAddresses, options.proxy == nil, !PublicAddress.contains(address, count: count) else { return true }
        hasRefusedAddress = true
        return false
    }

    /// Makes the socket for a connection; -1 if there is none.
    ///
    /// libcurl 7.88 would make a socket that stays open, because programs that this process starts inherit it.
    func makeSocket(_ family: Int32, _ type: Int32, _ transportProtocol: Int32) -> curl_socket_t {
        let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transportProtocol)
        socketError = descriptor < 0 ? errno : nil
        return descriptor
    }

    /// The last check before the request is sent.
    ///
    /// The connection must have been judged for the same host under the same policy, and a request that is not idempotent is sent only
    /// once.
    func mayBeSent(from localPort: Int32, to address: UnsafePointer<CChar>?, port: Int32) -> Bool {
        guard !isCancelled else {
            failure = CancellationError()
            return false
        }
        // A stream cannot be handed back; its content waits.
        guard suspendedAt == nil || wasSent || !options.canBeMadeAgain || upload.hasContent && !upload.canRewind else {
            failure = TransportError(
                .suspended, "the request was suspended before it was sent, so nothing was sent; send it again after it is resumed")
            return false
        }
        let maySendAgain = isIdempotent && upload.canRewind
        guard !wasSent || maySendAgain else {
            failure = TransportError(
                .connectionLost,
                "the connection ended before a response came; the server may have processed the request, so it is not sent again")
            return false
        }
        // A request that allows every address may have made the connection.
        if options.refusesPrivateAddresses, options.proxy == nil, !(address.map(PublicAddress.contains) ?? false) {
            failure = TransportError.refusedAddress(of: url)
            return false
        }
        if let terms {
            let connection = TrustHook.ofConnection(carrying: easy.pointer)
            guard let connection, case .trusted = connection.outcome, connection.terms.generation == terms.generation,
                connection.terms.host == terms.host
            else {
                failure = TransportError(
                    .trustRefused,
                    "the connection to \(terms.host) was not evaluated under the current policy, so nothing was sent; try again, and report a"
                        + " bug if it happens again")
                return false
            }
            self.connection = connection
        }
        // Connecting may have taken long, and reading a body before that even longer.
        if let rules = options.rules, !rules.areInForce {
            failure = TransportError(
                .rulesChanged,
                "a newer configuration came into force before the request was sent, so nothing was sent; send the request again")
            return false
        }
        // libcurl notices too late that a server has ended an idle TLS connection, and then resends the request elsewhere, which not every
        // request allows.
        let ends = ConnectionEnds(localPort: localPort, address: address, port: port)
        if !maySendAgain, !wasRestarted, let loop, loop.hasServerEnded(ends, of: self) {
            foundConnectionEnded = true
            return false
        }
        wasSent = true
        self.ends = ends
        isOnHTTP2Connection = connection != nil && easy.isOnHTTP2Connection
        if isOnHTTP2Connection { loop?.goAwayWatch.add(self) }
        return true
    }

    /// Takes one line of the header section.
    func receiveHeader(_ line: UnsafeBufferPointer<UInt8>) -> Bool {
        touch()
        headerBytes += line.count
        guard headerBytes <= options.maximumHeaderBytes else {
            failure = TransportError(
                .headerTooLarge, "the response's header section is larger than \(options.maximumHeaderBytes) bytes; raise the limit")
            return false
        }
        // Trailer fields come here, too, after the body.
        guard !isHeadComplete else {
            trailers.append(contentsOf: line)
            return true
        }
        let isBlank = line.count <= 2 && line.allSatisfy { $0 == 0x0D || $0 == 0x0A }
        guard isBlank else {
            // The blank line alone ends a head: a field line that looks like a status line must not hide the lines before it.
            if isInterim {
                isInterim = false
                head.bytes.removeAll(keepingCapacity: true)
            }
            head.bytes.append(contentsOf: line)
            return true
        }
        var status = 0
        clibcurl_get_long(easy.pointer, CURLINFO_RESPONSE_CODE, &status)
        // libcurl would take what follows for the content of a response that never has a head.
        guard status != 101 else {
            failure = TransportError(.malformedResponse, "the server switched protocols (status 101), which the request did not ask for")
            return false
        }
        guard status >= 200 else {
            isInterim = true
            return true
        }
        isHeadComplete = true
        head.isDecoded = options.decompresses && upload.offersDecoding && mayHaveContent
        if options.onDownload != nil {
            // The parser drops the Content-Length of decoded content, because it counts the encoded bytes.
            expectedBodyBytes = (try? ResponseHeadParser.parse(head))?.fields[.contentLength].flatMap { Int($0) }
        }
        loop?.headIsReady(of: self)
        if upload.hasContent { loop?.uploadIsAnswered(of: self) }
        // After a status of 300 or more the rest of the content is not wanted.
        guard status >= 300 else { return true }
        if upload.hasContent, isOverHTTP2, isLengthKnown || upload.isSmall {
            isRefused = isLengthKnown
            easy.keepSendingAfterRefusal()
        } else if upload.endIfUnfinished() {
            // libcurl would wait for the content, even after the server has closed the connection.
            loop?.uploadIsRefused(of: self)
        }
        return true
    }

    enum BodyAction {
        case taken
        case pause
        case fail
    }

    /// Takes decoded bytes of the body.
    func receiveBody(_ part: UnsafeBufferPointer<UInt8>) -> BodyAction {
        touch()
        if let limit = options.maximumBodyBytes, part.count > limit - bodyBytes {
            failure = TransportError(.bodyTooLarge, "the response's body is larger than \(limit) bytes; raise the limit or stream it")
            return .fail
        }
        // libcurl forgets a pause that began before the response; the end of the suspension ends this one.
        guard part.isEmpty || (suspendedAt == nil && exchange.append(part)) else {
            holdsContent = true
            wasPaused = true
            return .pause
        }
        bodyBytes += part.count
        options.onDownload?(TransferProgress(completed: bodyBytes, total: expectedBodyBytes))
        return .taken
    }

    func touch() {
        guard let loop else { return }
        lastActivity = loop.now
        loop.contentHasMoved()
    }

    // MARK: The driver

    /// Notes that the loop has begun the transfer.
    func began(at now: UInt64) {
        lastActivity = now
        if let limit = options.totalTimeout { deadline = now + UInt64(limit.wholeMilliseconds) * 1_000_000 }
    }

    /// Whether a request without much content was sent, and nothing of its response has come yet.
    ///
    /// Only then a caller goes on with its turn: connections are made, and content is moved, by the transport's thread.
    var isAnswerAwaited: Bool { wasSent && !isHeadComplete && (!upload.hasContent || upload.isSmall) }

    /// Whether to send the request again.
    ///
    /// Over HTTP/1.1, if HTTP/2 broke down before the response's head was complete, or may have lost the content before the head was handed
    /// over. Over a new connection, if the server had ended the connection that libcurl chose.
    func canRestart(after code: CURLcode) -> Bool {
        if foundConnectionEnded { return failure == nil && !wasRestarted }
        let isRecoverable = isDoubtful ? !isHeadDelivered : CurlFailure.http2Breakdown(code) != nil && !isHeadComplete
        // libcurl may hold content of the first response, and would hand it out as if it were the second's.
        return isRecoverable && !wasRestarted && !wasPaused && failure == nil && isIdempotent && upload.rewind()
    }

    /// Resets what the first attempt left.
    func restart() {
        wasRestarted = true
        hook = nil
        connection = nil
        isDoubtful = false
        isHeadComplete = false
        isRefused = false
        holdsContent = false
        isOnHTTP2Connection = false
        easy.forgetRefusal()
        head = CurlExchange.RawHead()
        isInterim = false
        headerBytes = 0
        trailers = []
    }

    func deliverHead() {
        guard isHeadComplete else { return }
        isHeadDelivered = true
        exchange.deliver(head, now: lastActivity)
    }

    /// Ends the exchange with libcurl's result.
    func finish(_ code: CURLcode) {
        // A callback may have refused the last content of a response that libcurl then reports as complete.
        guard code != CURLE_OK || failure != nil else {
            if let flaw = missingEnd { return fail(flaw) }
            hasEndedWell = !wasRestarted && !isRefused
            reportTimings()
            exchange.finish(.success(()), head: isHeadComplete ? head : nil, trailers: trailers, now: lastActivity)
            upload.end()
            options.control?.detach(self)
            return
        }
        fail(failure ?? upload.failure ?? CurlFailure.error(code, of: self))
    }

    /// Ends the exchange with an error.
    func fail(_ error: any Error) {
        reportTimings()
        var error = error
        if var failure = error as? TransportError {
            failure.isSafeToRepeat = !wasSent || isIdempotent
            error = failure
        }
        exchange.finish(.failure(error), now: lastActivity)
        upload.end()
        options.control?.detach(self)
    }

    private func reportTimings() {
        // A transfer that never started has no activity, and its handle has the times of an earlier one.
        guard let onTimings = options.onTimings, lastActivity > 0 else { return }
        onTimings(easy.timings)
    }
}
