import CLibCurl
import Foundation
import Synchronization

/// Brings messages to the loop: a queue, and an eventfd that wakes the transport's thread only when it sleeps.
final class CurlMailbox: Sendable {
    enum Message: Sendable {
        case start(CurlTransfer)
        case unpause(CurlTransfer)
        case cancel(CurlTransfer)
        case suspend(CurlTransfer)
        case goOn(CurlTransfer)
        case cancelGroup(TransferGroup)
        case stop
    }

    private struct State {
        var messages: [Message] = []
        var isAsleep = false
        /// Whether the transport's thread must run the loop although no message waits.
        var isNeeded = false
        var isStopped = false
    }

    let wakeDescriptor: Int32
    private let state = Mutex(State())
    private let posted = Atomic(false)

    init() throws(TransportError) {
        wakeDescriptor = clibcurl_eventfd()
        guard wakeDescriptor >= 0 else {
            throw TransportError(
                .internalError,
                "the event descriptor could not be created: \(String(cString: strerror(errno))); raise the limit of open files (ulimit -n)")
        }
    }

    deinit { close(wakeDescriptor) }

    /// Posts a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - wakesThread: Whether to wake the transport's thread; otherwise the caller runs the loop, or calls ``wakeThread()``.
    /// - Returns: Whether the message will be read; false when the driver has stopped.
    @discardableResult
    func post(_ message: Message, wakesThread: Bool = true) -> Bool {
        let (accepted, mustWake) = state.withLock { state -> (Bool, Bool) in
            guard !state.isStopped else { return (false, false) }
            if case .stop = message { state.isStopped = true }
            state.messages.append(message)
            posted.store(true, ordering: .relaxed)
            guard wakesThread else { return (true, false) }
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { wake() }
        return accepted
    }

    /// Has the transport's thread run the loop, which a caller has left with work to do, or could not run.
    func wakeThread() {
        let mustWake = state.withLock { state in
            state.isNeeded = true
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustWake { wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        // Fails only by overflow, and then the thread is being woken already.
        _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: The driver's side

    /// Whether a message waits.
    var hasMessages: Bool { posted.load(ordering: .relaxed) }

    /// Moves all messages so far into `messages`, which must be empty; for the transport's thread.
    func take(into messages: inout [Message]) {
        state.withLock { state in
            swap(&state.messages, &messages)
            posted.store(false, ordering: .relaxed)
            state.isAsleep = false
            state.isNeeded = false
        }
    }

    /// Does the same for a caller that runs the loop while the transport's thread may sleep.
    func takeForCaller(into messages: inout [Message]) {
        state.withLock { state in
            swap(&state.messages, &messages)
            posted.store(false, ordering: .relaxed)
        }
    }

    /// Announces that the transport's thread will sleep; false when a message already waits, or the thread is needed.
    func mayFallAsleep() -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty, !state.isNeeded else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// Clears the event that woke the thread.
    func acknowledgeWake() {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, 8)
    }
}
