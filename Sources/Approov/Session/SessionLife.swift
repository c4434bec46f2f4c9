import HTTPClient
import Synchronization

/// Whether a session takes requests, and the transfers that its end ends.
final class SessionLife: Sendable {
    private enum Phase: UInt8, AtomicRepresentable {
        case valid
        /// Requests under way go on; no other begins.
        case finishing
        case cancelled
    }

    private struct Waiters {
        var lastID: UInt64 = 0
        var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    /// The tasks that were made and not started; weak, because a task keeps its session.
    private struct Unstarted {
        struct Reference {
            weak var task: ApproovTask?
        }

        var lastID: UInt64 = 0
        var tasks: [UInt64: Reference] = [:]
    }

    private let phase = Atomic(Phase.valid)
    private let unstarted = Mutex(Unstarted())
    /// The requests that wait for anything but a transfer.
    private let waiters = Mutex(Waiters())
    /// The transfers of the session's requests.
    let transfers = TransferGroup()

    /// Whether further requests may begin.
    var isValid: Bool { phase.load(ordering: .relaxed) == .valid }

    /// Whether the session's requests were cancelled.
    var isCancelled: Bool { phase.load(ordering: .acquiring) == .cancelled }

    /// Checks whether a request may begin.
    ///
    /// - Parameter isAdmitted: Whether the request's task was made before the session was invalidated.
    /// - Throws: ``ApproovError`` with code `sessionInvalidated` after the session was invalidated; for an admitted request, after its
    ///   requests were cancelled.
    func checkBegin(isAdmitted: Bool = false) throws {
        let phase = phase.load(ordering: .relaxed)
        guard phase == .valid || isAdmitted && phase == .finishing else { throw Self.ended }
    }

    /// Notes a task, which is cancelled with the session if it was not started until then.
    ///
    /// - Parameter task: The task.
    /// - Returns: The number for ``forget(_:)``.
    func note(_ task: ApproovTask) -> UInt64 {
        unstarted.withLock { unstarted in
            unstarted.lastID += 1
            unstarted.tasks[unstarted.lastID] = Unstarted.Reference(task: task)
            return unstarted.lastID
        }
    }

    /// Forgets a task that was started, cancelled or given up.
    func forget(_ id: UInt64) { unstarted.withLock { _ = $0.tasks.removeValue(forKey: id) } }

    /// Checks whether a request that has begun may go on.
    ///
    /// - Throws: `FinalError` when the session's requests were cancelled.
    func checkGoOn() throws {
        guard phase.load(ordering: .relaxed) != .cancelled else { throw FinalError(cause: Self.ended) }
    }

    /// Lets no further request begin.
    func finish() { _ = phase.compareExchange(expected: .valid, desired: .finishing, ordering: .relaxed) }

    /// Lets no further request begin, and ends those under way.
    ///
    /// - Parameter transport: The transport of the session.
    func cancel(on transport: any HTTPTransport) {
        let waiting = waiters.withLock { waiters in
            phase.store(.cancelled, ordering: .relaxed)
            defer { waiters.continuations = [:] }
            return waiters.continuations
        }
        for continuation in waiting.values { continuation.resume() }
        let tasks = unstarted.withLock { $0.tasks.values.compactMap(\.task) }
        for task in tasks { task.cancelUnstarted() }
        transfers.cancel(with: Self.ended)
        (transport as? CurlTransport)?.cancel(transfers)
    }

    /// Returns when the session's requests are cancelled, or the task is.
    func waitForCancellation() async {
        let id = waiters.withLock { waiters in
            waiters.lastID += 1
            return waiters.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasEnded = waiters.withLock { waiters in
                    // Checked under the lock: the cancellation handler either ran before this, or will find the waiter.
                    guard phase.load(ordering: .relaxed) != .cancelled, !Task.isCancelled else { return true }
                    waiters.continuations[id] = continuation
                    return false
                }
                if hasEnded { continuation.resume() }
            }
        } onCancel: {
            waiters.withLock { $0.continuations.removeValue(forKey: id) }?.resume()
        }
    }

    private static var ended: ApproovError {
        ApproovError(.sessionInvalidated, "the session was invalidated, so it sends nothing: make a new session")
    }
}
