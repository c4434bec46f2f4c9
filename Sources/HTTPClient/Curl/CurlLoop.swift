import CLibCurl
import CertificatePinning
import Foundation

/// The driver's loop: waits for sockets, timers and messages, and lets libcurl work.
///
/// Used only by the thread that holds the lock of ``CurlDriver``.
final class CurlLoop {
    /// Why ``run()`` ended.
    enum Exit {
        /// Nothing is under way, and callers may run the loop.
        case idle
        case stopped
    }

    let epoll: Int32
    /// The monotonic clock in nanoseconds, read before and after each wait.
    private(set) var now: UInt64
    /// How often libcurl has taken or delivered content.
    private(set) var movements: UInt64 = 0
    let goAwayWatch = GoAwayWatch()
    private let mailbox: CurlMailbox
    private let configuration: CurlTransportConfiguration
    /// The pools that take new requests, by generation.
    private var currentPools: [UInt64: CurlPool] = [:]
    /// All pools by number: the current ones, and retired ones whose requests have not ended.
    private(set) var pools: [UInt32: CurlPool] = [:]
    private var nextPoolNumber: UInt32 = 1
    private var active: [CurlTransfer] = []
    private var readyHeads: [CurlTransfer] = []
    /// The transfers whose request content the server no longer wants.
    var refusedUploads: [CurlTransfer] = []
    /// The transfers whose response has begun over HTTP/2, and whose request's content may not have ended.
    var answeredUploads = AnsweredUploads()
    private var messages: [CurlMailbox.Message] = []
    private var isStopping = false
    private var nextSweep: UInt64 = .max
    private var http1OnlyOrigins = HTTP1OnlyOrigins()
    private let forecast: AnswerForecast
    private let events: UnsafeMutablePointer<epoll_event>
    /// When the last transfer ended, in nanoseconds.
    private var lastEnd: UInt64 = 0

    /// The maximum number of events that one wait returns.
    private static let maximumEvents = 64
    /// How long after the last transfer callers may run the loop, in nanoseconds.
    private static let callersPeriod: UInt64 = 1_000_000_000
    /// The pool number that stands for the mailbox in epoll's events.
    private static let mailboxNumber: UInt32 = 0
    /// From this many transfers on, the thread lets others run before it takes new messages.
    private static let busy = 8
    /// How long an idle pool keeps its connections while its policy still exists, in nanoseconds.
    private static let idlePoolLimit: UInt64 = 120_000_000_000

    /// Makes a loop that messages wake.
    ///
    /// - Throws: ``TransportError`` with code `internalError` when the system gives no descriptor: no message would then arrive.
    init(mailbox: CurlMailbox, configuration: CurlTransportConfiguration, forecast: AnswerForecast) throws(TransportError) {
        let epoll = clibcurl_epoll_create()
        guard epoll >= 0 else {
            throw TransportError(
                .internalError,
                "the epoll descriptor could not be created: \(String(cString: strerror(errno))); raise the limit of open files (ulimit -n)")
        }
        do throws(TransportError) { try Self.listen(to: mailbox, with: epoll) } catch {
            Foundation.close(epoll)
            throw error
        }
        self.epoll = epoll
        self.mailbox = mailbox
        self.configuration = configuration
        self.forecast = forecast
        events = .allocate(capacity: Self.maximumEvents)
        now = Self.clock()
    }

    private static func listen(to mailbox: CurlMailbox, with epoll: Int32) throws(TransportError) {
        let tag = UInt64(mailboxNumber) << 32
        guard
            clibcurl_epoll_control(epoll, Int32(clibcurl_epoll_add), mailbox.wakeDescriptor, UInt32(clibcurl_epoll_in), tag) == 0
        else {
            throw TransportError(
                .internalError,
                "the system cannot watch another descriptor: \(String(cString: strerror(errno))); raise fs.epoll.max_user_watches")
        }
    }

    deinit {
        Foundation.close(epoll)
        events.deallocate()
    }

    // MARK: Rounds

    /// Runs on the transport's thread until the message `stop` arrives, or until callers may run the loop.
    func run() -> Exit {
        // Only here, where no caller runs the loop: a caller ends its turn when it sees that the thread was woken.
        mailbox.acknowledgeWake()
        while true {
            // With many requests under way, more are about to be posted, and requests that leave together cost a fraction.
            if active.count >= Self.busy { sched_yield() }
            mailbox.take(into: &messages)
            handleMessages()
            if isStopping { break }
            work()
            if active.isEmpty, now - lastEnd < Self.callersPeriod, forecast.isSoon { return .idle }
            if wait(mailbox.mayFallAsleep() ? millisecondsToSleep() : 0) { mailbox.acknowledgeWake() }
        }
        for transfer in active { remove(transfer).fail(TransportError(.shutDown, "the transport was shut down; make a new one")) }
        // Now, while the loop exists, because libcurl reports each socket that it closes to the loop's pools.
        currentPools = [:]
        pools = [:]
        return .stopped
    }

    /// Runs on a caller's thread until the head of its response has come, or until the transport's thread is needed.
    ///
    /// That thread makes connections, handles several requests at once, and receives the rest of a long response.
    ///
    /// - Parameters:
    ///   - exchange: The caller's exchange.
    ///   - limit: How long the caller waits, in nanoseconds; the last wait may end 1 ms later.
    ///   - spin: For how much of that time it does not sleep.
    /// - Returns: Whether nothing is left for the transport's thread.
    func run(for exchange: CurlExchange, atMost limit: UInt64, spinning spin: UInt64) -> Bool {
        let start = Self.clock()
        while !isStopping {
            mailbox.takeForCaller(into: &messages)
            handleMessages()
            if isStopping { break }
            work()
            guard exchange.headArrival == 0 else { return active.isEmpty }
            guard active.count == 1, active[0].isAnswerAwaited, now - start < limit else { break }
            let isSpinning = now - start < spin
            if isSpinning { sched_yield() }
            // A wake-up is meant for the transport's thread.
            if wait(isSpinning || mailbox.hasMessages || millisecondsToSleep() == 0 ? 0 : 1) { break }
        }
        return false
    }

    /// Does what is due before a wait.
    private func work() {
        runTimers()
        reap()
        sweep()
        for pool in pools.values { pool.registerChanges() }
    }

    /// Waits for events of sockets and handles them.
    ///
    /// - Returns: Whether the transport's thread was woken.
    private func wait(_ milliseconds: Int32) -> Bool {
        let count = epoll_wait(epoll, events, Int32(Self.maximumEvents), milliseconds)
        now = Self.clock()
        var isWoken = false
        for index in 0..<Int(max(count, 0)) {
            let tag = clibcurl_epoll_event_tag(events, Int32(index))
            if UInt32(truncatingIfNeeded: tag >> 32) == Self.mailboxNumber {
                isWoken = true
            } else {
                handle(tag, clibcurl_epoll_event_mask(events, Int32(index)))
            }
        }
        reap()
        return isWoken
    }

    // MARK: Messages

    private func handleMessages() {
        now = Self.clock()
        for message in messages {
            switch message {
            case .start(let transfer): start(transfer)
            case .unpause(let transfer):
                transfer.lastActivity = now
                unpause(transfer)
            case .cancel(let transfer): cancel(transfer)
            case .suspend(let transfer): suspend(transfer)
            case .goOn(let transfer): goOn(transfer)
            case .cancelGroup(let group): cancel(group)
            case .stop: isStopping = true
            }
        }
        messages.removeAll(keepingCapacity: true)
    }

    private func start(_ transfer: CurlTransfer) {
        guard !isStopping else {
            transfer.permit = nil
            return transfer.fail(TransportError(.shutDown, "the transport was shut down; make a new one"))
        }
        do {
            guard !transfer.isCancelled else { throw CancellationError() }
            if let error = transfer.options.group?.error { throw error }
            let pool = try pool(of: transfer)
            // Without TLS no server is asked for HTTP/2: libcurl would hold all other requests back until the first response tells the
            // version.
            try transfer.easy.speak(onlyHTTP1: !transfer.url.isSecure || http1OnlyOrigins.contains(transfer.url.origin, now: now))
            transfer.loop = self
            transfer.began(at: now)
            guard curl_multi_add_handle(pool.multi, transfer.easy.pointer) == CURLM_OK else {
                throw TransportError(.internalError, "libcurl did not accept the request; the process may be out of memory")
            }
            transfer.poolNumber = pool.number
            pool.activeTransfers += 1
            pool.startedTransfers += 1
            transfer.activeIndex = active.count
            active.append(transfer)
            nextSweep = min(nextSweep, now + transfer.sweepInterval, transfer.deadline)
            // Here, because libcurl may send content before the driver takes its next messages.
            if transfer.options.control?.isSuspended == true { suspend(transfer) }
        } catch {
            transfer.permit = nil
            transfer.fail(error)
        }
    }

    func unpause(_ transfer: CurlTransfer) {
        guard transfer.activeIndex >= 0, transfer.suspendedAt == nil else { return }
        transfer.holdsContent = false
        // libcurl delivers what waited. When a callback refuses it, libcurl returns an error but continues as if it had been taken, so the
        // transfer must end here. CURLE_BAD_FUNCTION_ARGUMENT comes between two connections, when there is nothing to unpause.
        let code = curl_easy_pause(transfer.easy.pointer, CURLPAUSE_CONT)
        guard code == CURLE_OK || code == CURLE_BAD_FUNCTION_ARGUMENT else { return abandon(transfer).finish(code) }
    }

    private func cancel(_ transfer: CurlTransfer) {
        guard transfer.activeIndex >= 0 else { return }
        abandon(transfer).fail(CancellationError())
    }

    private func cancel(_ group: TransferGroup) {
        guard let error = group.error else { return }
        for transfer in active.filter({ $0.options.group === group }) { abandon(transfer).fail(error) }
    }

    private func suspend(_ transfer: CurlTransfer) {
        guard transfer.activeIndex >= 0, transfer.suspendedAt == nil else { return }
        transfer.suspendedAt = now
        transfer.wasPaused = true
        // Fails before there is a connection; the callbacks then pause.
        _ = curl_easy_pause(transfer.easy.pointer, CURLPAUSE_ALL)
        nextSweep = min(nextSweep, now + transfer.sweepInterval)
    }

    private func goOn(_ transfer: CurlTransfer) {
        guard transfer.activeIndex >= 0, transfer.suspendedAt != nil else { return }
        transfer.suspendedAt = nil
        transfer.lastActivity = now
        unpause(transfer)
    }

    // MARK: Events

    private func handle(_ tag: UInt64, _ events: UInt32) {
        let number = UInt32(truncatingIfNeeded: tag >> 32)
        pools[number]?.act(on: Int32(bitPattern: UInt32(truncatingIfNeeded: tag)), events)
    }

    private func runTimers() {
        // A timer's work may set a timer that is due at once; after a few rounds of that, the sockets get their turn.
        for _ in 0..<8 {
            var wasDue = false
            for pool in pools.values {
                guard let deadline = pool.deadline, deadline <= now else { continue }
                pool.actOnTimer()
                wasDue = true
            }
            guard wasDue else { return }
        }
    }

    private func millisecondsToSleep() -> Int32 {
        var wakeAt = nextSweep
        for pool in pools.values {
            if let deadline = pool.deadline { wakeAt = min(wakeAt, deadline) }
            if let end = pool.restsUntil { wakeAt = min(wakeAt, end) }
        }
        guard wakeAt != .max else { return -1 }
        guard wakeAt > now else { return 0 }
        return Int32(min((wakeAt - now + 999_999) / 1_000_000, 60_000))
    }

    /// Whether the server has ended the connection on which a transfer was about to go out.
    func hasServerEnded(_ ends: ConnectionEnds, of transfer: CurlTransfer) -> Bool {
        pools[transfer.poolNumber]?.hasServerEnded(ends, isSilent: transfer.easy.isOnIdleHTTP1Connection) ?? false
    }

    /// Notes that libcurl has taken or delivered content.
    func contentHasMoved() { movements &+= 1 }

    func headIsReady(of transfer: CurlTransfer) {
        readyHeads.append(transfer)
    }

    /// Ends finished transfers and hands out the heads that arrived in this round.
    ///
    /// After libcurl's work, not during it, so that a response that arrived complete wakes its reader once.
    private func reap() {
        goAwayWatch.listen()
        endFinished()
        if !answeredUploads.isEmpty {
            checkAnsweredUploads()
            endFinished()
        }
        guard !readyHeads.isEmpty || !refusedUploads.isEmpty else { return }
        for transfer in readyHeads { transfer.deliverHead() }
        readyHeads.removeAll(keepingCapacity: true)
        endRefusedUploads()
    }

    private func endFinished() {
        for pool in pools.values {
            var easy: UnsafeMutableRawPointer?
            var code = CURLE_OK
            while clibcurl_multi_next_done(pool.multi, &easy, &code) != 0 {
                var pointer: UnsafeMutableRawPointer?
                guard let easy, clibcurl_get_pointer(easy, CURLINFO_PRIVATE, &pointer) == CURLE_OK, let pointer else { continue }
                guard let transfer = CurlEasyHandle.transfer(of: pointer) else { continue }
                end(transfer, code)
            }
        }
    }

    func end(_ transfer: CurlTransfer, _ code: CURLcode) {
        if let breakdown = CurlFailure.http2Breakdown(code) {
            http1OnlyOrigins.note(breakdown, with: transfer.url.origin, now: now)
        } else if code == CURLE_OK, !http1OnlyOrigins.isEmpty, !transfer.easy.isHTTP1Only {
            http1OnlyOrigins.noteResponse(from: transfer.url.origin)
        }
        // A refusal of ours and a timeout end only the stream; other failures end the connection.
        let isRefused = transfer.failure != nil || code == CURLE_OPERATION_TIMEDOUT
        let wasReset = code == CURLE_OK ? transfer.wasReset : isRefused && transfer.isOnHTTP2Connection
        if wasReset { countReset(of: transfer) }
        transfer.isDoubtful = code == CURLE_OK && transfer.connection?.hasServerGivenUp == true && transfer.isEmptyOverHTTP2
        guard transfer.canRestart(after: code), let pool = pools[transfer.poolNumber] else {
            return remove(transfer).finish(code)
        }
        transfer.restart()
        transfer.lastActivity = now
        curl_multi_remove_handle(pool.multi, transfer.easy.pointer)
        do throws(TransportError) {
            if transfer.foundConnectionEnded { try transfer.easy.openNewConnection() } else { try transfer.easy.speak(onlyHTTP1: true) }
        } catch {
            return remove(transfer).fail(error)
        }
        if curl_multi_add_handle(pool.multi, transfer.easy.pointer) != CURLM_OK { remove(transfer).finish(code) }
    }

    // MARK: Keeping house

    /// Ends transfers on which nothing moves or whose time is over, and closes spent pools.
    private func sweep() {
        guard now >= nextSweep else { return }
        nextSweep = .max
        var index = 0
        while index < active.count {
            let transfer = active[index]
            // A pause does not count as idle time. Updated here, because the message that ends a pause comes a moment after the pause
            // itself.
            if transfer.isPaused { transfer.lastActivity = now }
            if let since = transfer.suspendedAt, now - since >= transfer.suspensionLimit {
                abandon(transfer).fail(
                    TransportError(
                        .idleTimeout,
                        "the transfer was suspended for too long, so its connection was closed; resume it earlier, or start it again"))
                continue
            }
            if now >= transfer.deadline {
                abandon(transfer).fail(CurlFailure.totalTimeout(of: transfer))
                continue
            }
            if now - transfer.lastActivity >= transfer.idleLimit {
                abandon(transfer).fail(CurlFailure.idleTimeout(of: transfer))
                continue
            }
            if transfer.isSilentUpload(now: now) { answeredUploads.insert(transfer) }
            nextSweep = min(nextSweep, now + transfer.sweepInterval, transfer.deadline)
            index += 1
        }
        // What checkAnsweredUploads() did not notice in time costs a moment, and not the idle timeout.
        if !answeredUploads.isEmpty { reap() }
        for pool in pools.values where pool.isSpent(now: now, idleLimit: Self.idlePoolLimit) { close(pool) }
        if !pools.isEmpty { nextSweep = min(nextSweep, now + 5_000_000_000) }
    }

    /// Takes the transfer out of libcurl, which frees its stream or connection at once.
    private func remove(_ transfer: CurlTransfer) -> CurlTransfer {
        let pool = pools[transfer.poolNumber]
        if let pool {
            curl_multi_remove_handle(pool.multi, transfer.easy.pointer)
            pool.activeTransfers -= 1
            pool.idleSince = now
        }
        lastEnd = now
        let last = active.removeLast()
        if last !== transfer {
            active[transfer.activeIndex] = last
            last.activeIndex = transfer.activeIndex
        }
        transfer.activeIndex = -1
        transfer.loop = nil
        transfer.permit = nil
        return transfer
    }

    /// Takes a transfer that has not ended out of libcurl, which resets its stream.
    private func abandon(_ transfer: CurlTransfer) -> CurlTransfer {
        if transfer.isOnHTTP2Connection { countReset(of: transfer) }
        return remove(transfer)
    }

    private func countReset(of transfer: CurlTransfer) {
        if transfer.connection?.countReset(now: now) == true { pools[transfer.poolNumber]?.retire() }
    }

    private func pool(of transfer: CurlTransfer) throws(TransportError) -> CurlPool {
        if let pool = currentPools[transfer.policy.generation] {
            guard now >= pool.retirement else { return pool }
            pool.isRetired = true
        }
        // Before making a new pool, close those that are spent.
        for pool in pools.values where pool.isSpent(now: now, idleLimit: Self.idlePoolLimit) { close(pool) }
        let pool = try CurlPool(policy: transfer.policy, number: nextPoolNumber, loop: self, configuration: configuration)
        nextPoolNumber = nextPoolNumber == .max ? 1 : nextPoolNumber + 1
        currentPools[pool.generation] = pool
        pools[pool.number] = pool
        nextSweep = min(nextSweep, now + 5_000_000_000)
        return pool
    }

    private func close(_ pool: CurlPool) {
        if currentPools[pool.generation] === pool { currentPools[pool.generation] = nil }
        pools[pool.number] = nil
    }

    /// The system's monotonic clock, in nanoseconds.
    static func clock() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

extension CurlTransfer {
    /// The idle timeout in nanoseconds.
    fileprivate var idleLimit: UInt64 { UInt64(options.idleTimeout.wholeMilliseconds) * 1_000_000 }

    /// How long the transfer may be suspended, in nanoseconds.
    fileprivate var suspensionLimit: UInt64 { UInt64((options.control?.limit ?? .seconds(60)).wholeMilliseconds) * 1_000_000 }

    /// How often to check whether the transfer is idle: an eighth of its timeout, at least 5 ms and at most 1 s.
    var sweepInterval: UInt64 { max(5_000_000, min(idleLimit / 8, 1_000_000_000)) }

    /// Whether the transfer waits for our side: a slow reader of the response, or a slow producer of the request.
    var isPaused: Bool { exchange.isPaused || upload.isPaused || suspendedAt != nil }
}
