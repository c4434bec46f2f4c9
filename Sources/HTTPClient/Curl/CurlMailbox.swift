import CLibCurl
import Foundation
import Synchronization

/// Brings messages to the driver's thread: a queue, and an eventfd that wakes the thread only when it sleeps.
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
                "the system gave no event descriptor: \(String(cString: strerror(errno))); raise the limit of open files (ulimit -n)")
        }
    }

    deinit { close(wakeDescriptor) }

    /// Posts a message; false when the driver has stopped.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (accepted, mustWake) = state.withLock { state -> (Bool, Bool) in
            guard !state.isStopped else { return (false, false) }
            if case .stop = message { state.isStopped = true }
            state.messages.append(message)
            posted.store(true, ordering: .relaxed)
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { wake() }
        return accepted
    }

    private func wake() {
        var one: UInt64 = 1
        // Fails only by overflow, and then the thread is being woken already.
        _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: The driver's side

    /// Whether a message waits, for a driver that looks again and again.
    var hasMessages: Bool { posted.load(ordering: .relaxed) }

    /// Moves all messages so far into `messages`, which must be empty.
    func take(into messages: inout [Message]) {
        state.withLock { state in
            swap(&state.messages, &messages)
            posted.store(false, ordering: .relaxed)
            state.isAsleep = false
        }
    }

    /// Announces that the thread will sleep; false when a message already waits.
    func mayFallAsleep() -> Bool {
        state.withLock { state in
            guard state.messages.isEmpty else { return false }
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
