/// The state machine of a lent request body; a value without clocks, tasks or locks.
///
/// Its methods change the state and return what the caller must do outside the lock. A *reader* is a task in `next`; a *read* is a call of
/// the connection's iterator, which may outlive the reader that began it.
struct BorrowedRequestBodyState<Reader, Handler> {
    /// What a read brings: a part, nil at the end of the content, or an error.
    typealias Outcome = Result<[UInt8]?, any Error>
    /// Identifies a reader.
    typealias ReaderID = UInt64

    /// Who may read.
    private enum Lease {
        /// The borrower.
        case lent
        /// The handler alone, which drops the rest.
        case draining
        /// No task.
        case takenBack
    }

    private enum Read {
        case idle
        /// A read has begun and not returned; `until` is set once it waits for the client.
        case underWay(until: Duration?, isStalled: Bool)
        /// A read returned while no reader waited for it.
        case landed(Outcome)
        /// The content was read to its end.
        case ended
        /// No further read is of use.
        case failed(any Error)
    }

    private enum Seat {
        case free
        /// A reader is in `next` and does not wait yet.
        case entered(ReaderID)
        case waiting(ReaderID, Reader)
    }

    /// The answer to a reader.
    enum Entry {
        /// The part, the end or the error is known.
        case done(Outcome)
        /// The reader must begin a read.
        case start(ReaderID)
        /// A read that a cancelled reader left behind is under way.
        case join(ReaderID)
    }

    /// What the caller must do outside the lock.
    struct Actions {
        /// The reader to resume.
        var resumed: (reader: Reader, outcome: Outcome)?
        /// The handler to resume.
        var handler: Handler?
        /// Whether to cancel the read under way.
        var cancelsRead = false
    }

    /// What the timer does next.
    enum Look: Equatable {
        /// It looks again at this uptime.
        case again(at: Duration)
        /// It cancels the read under way, which has waited for too long, and ends.
        case cancelRead
        /// It ends.
        case stop
    }

    private var lease = Lease.lent
    private var read = Read.idle
    private var seat = Seat.free
    /// The handler that waits until it may continue.
    private var handler: Handler?
    private var remaining: Int
    /// The bytes that were read before the content was lent out.
    private var ahead: [UInt8] = []
    private var isWatched = false
    private var lastID: ReaderID = 0
    private let idleTimeout: Duration
    private var deadline: Duration?

    /// Makes the state of a content that no task reads.
    ///
    /// - Parameters:
    ///   - limit: The most bytes the content may have.
    ///   - idleTimeout: The longest time without any bytes.
    ///   - deadline: The uptime by which all of the content must have come.
    init(limit: Int, idleTimeout: Duration, deadline: Duration?) {
        remaining = limit
        self.idleTimeout = idleTimeout
        self.deadline = deadline
    }

    // MARK: The reader

    /// A reader comes.
    ///
    /// - Parameters:
    ///   - isDraining: Whether the reader is the handler that drops the rest.
    ///   - now: The uptime.
    /// - Returns: What the reader does next; after `start` and `join` it must call `collect` or `enlist`.
    mutating func enter(isDraining: Bool = false, now: Duration) -> Entry {
        guard case .free = seat, isDraining ? lease == .draining : lease == .lent else {
            return .done(.failure(BorrowedRequestBody.TakenBack()))
        }
        if !ahead.isEmpty, !isDraining { return .done(.success(takeAhead())) }
        switch read {
        case .ended: return .done(.success(nil))
        case .failed(let error): return .done(.failure(error))
        case .idle, .underWay, .landed: break
        }
        if let deadline, now >= deadline { return .done(.failure(BorrowedRequestBody.Stalled())) }
        if case .landed(let outcome) = read { return .done(settle(outcome)) }
        lastID += 1
        seat = .entered(lastID)
        if case .underWay = read { return .join(lastID) }
        read = .underWay(until: nil, isStalled: false)
        return .start(lastID)
    }

    /// Takes the outcome for a reader that entered, if the read has landed meanwhile; the reader then leaves.
    mutating func collect(_ id: ReaderID) -> (outcome: Outcome, actions: Actions)? {
        guard case .entered(id) = seat, case .landed(let outcome) = read else { return nil }
        let settled = settle(outcome)
        return (settled, leave())
    }

    /// Lets a reader that entered wait for the read.
    ///
    /// - Parameters:
    ///   - reader: The reader; it is resumed at once when the outcome is known, or when its task was cancelled before.
    ///   - id: The reader's identifier.
    ///   - isCancelled: Whether the reader's task is cancelled.
    /// - Returns: What to do.
    mutating func enlist(_ reader: Reader, _ id: ReaderID, isCancelled: Bool) -> Actions {
        if let (outcome, actions) = collect(id) {
            var actions = actions
            actions.resumed = (reader, outcome)
            return actions
        }
        seat = .waiting(id, reader)
        return isCancelled ? withdraw(id) : Actions()
    }

    /// A reader's task was cancelled: it leaves its read to the next reader, since cancelling the read would end the content for all.
    mutating func withdraw(_ id: ReaderID) -> Actions {
        guard case .waiting(id, let reader) = seat else { return Actions() }
        var actions = leave()
        actions.resumed = (reader, .failure(CancellationError()))
        return actions
    }

    // MARK: The read

    /// The read that was begun has to wait for the client.
    ///
    /// - Parameter now: The uptime.
    /// - Returns: Whether to start the timer.
    mutating func readWaits(now: Duration) -> Bool {
        guard case .underWay(nil, let isStalled) = read else { return false }
        read = .underWay(until: limit(from: now), isStalled: isStalled)
        defer { isWatched = true }
        return !isWatched
    }

    /// The read returned.
    ///
    /// - Parameters:
    ///   - result: What it returned.
    ///   - isCancelled: Whether it was cancelled; it may then look as if the content had ended.
    /// - Returns: What to do.
    mutating func land(_ result: Outcome, isCancelled: Bool) -> Actions {
        guard case .underWay(_, let isStalled) = read else { return Actions() }
        let outcome: Outcome =
            !isCancelled ? result : .failure(isStalled ? BorrowedRequestBody.Stalled() : BorrowedRequestBody.TakenBack())
        guard case .waiting(_, let reader) = seat else {
            read = .landed(outcome)
            return Actions(handler: takeHandler())
        }
        let settled = settle(outcome)
        var actions = leave()
        actions.resumed = (reader, settled)
        return actions
    }

    /// Looks for a read that has waited for too long.
    mutating func lookForStall(now: Duration) -> Look {
        guard lease != .takenBack else { return .stop }
        switch read {
        case .ended, .failed: return .stop
        case .underWay(let until?, false) where until <= now:
            read = .underWay(until: until, isStalled: true)
            // The timer ends here. If the part came at the last moment, the next read that waits starts a new one.
            isWatched = false
            return .cancelRead
        case .underWay(let until?, _): return .again(at: until)
        case .idle, .landed, .underWay: return .again(at: limit(from: now))
        }
    }

    // MARK: The handler

    /// Keeps bytes for the next reader.
    mutating func keep(_ bytes: [UInt8]) { ahead = bytes }

    /// Ends the time limit for the whole content, for reads that begin from now on.
    mutating func liftDeadline() { deadline = nil }

    /// The whole content, if it was read ahead to its end and nothing of it was taken; nil otherwise.
    mutating func takeWhole() -> [UInt8]? {
        guard lease == .lent, case .ended = read else { return nil }
        return takeAhead()
    }

    /// The handler takes the content back; it is resumed once no reader is left, and no read is under way that it does not continue itself.
    ///
    /// - Parameters:
    ///   - handler: The handler.
    ///   - isDraining: Whether the handler reads on.
    /// - Returns: What to do.
    mutating func takeBack(_ handler: Handler, isDraining: Bool) -> Actions {
        lease = isDraining ? .draining : .takenBack
        self.handler = handler
        return Actions(handler: takeHandler(), cancelsRead: isReadAbandoned)
    }

    // MARK: Helpers

    /// Whether a read is under way for which neither a reader nor the handler has any use.
    private var isReadAbandoned: Bool {
        guard lease == .takenBack, case .free = seat, case .underWay = read else { return false }
        return true
    }

    private mutating func leave() -> Actions {
        seat = .free
        return Actions(handler: takeHandler(), cancelsRead: isReadAbandoned)
    }

    /// Takes out the waiting handler, if it may continue.
    private mutating func takeHandler() -> Handler? {
        guard lease != .lent, case .free = seat else { return nil }
        if case .underWay = read, lease == .takenBack { return nil }
        return handler.take()
    }

    /// Ends a read with its outcome.
    private mutating func settle(_ outcome: Outcome) -> Outcome {
        switch outcome {
        case .success(let part?):
            remaining -= part.count
            guard remaining >= 0 else { return fail(BorrowedRequestBody.TooLong()) }
            read = .idle
            return outcome
        case .success(nil):
            read = .ended
            return outcome
        case .failure(let error):
            return fail(error)
        }
    }

    private mutating func fail(_ error: any Error) -> Outcome {
        read = .failed(error)
        return .failure(error)
    }

    private mutating func takeAhead() -> [UInt8] {
        defer { ahead = [] }
        return ahead
    }

    /// The uptime until which a read that begins to wait now may wait.
    private func limit(from now: Duration) -> Duration {
        let idle = now + idleTimeout
        guard let deadline, now < deadline else { return idle }
        return min(idle, deadline)
    }
}
