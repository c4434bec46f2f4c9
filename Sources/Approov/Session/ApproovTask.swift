public import HTTPClient
import Synchronization

/// One request on its way, for callers without async: begins when it is resumed, ends with its completion handler.
public final class ApproovTask: Sendable {
    private enum State {
        case suspended
        case running(Task<Void, Never>)
        case finished
    }

    /// How far a transfer has come.
    final class Progress: Sendable {
        let upload = Mutex(TransferProgress(completed: 0, total: nil))
        let download = Mutex(TransferProgress(completed: 0, total: nil))
    }

    private let state = Mutex(State.suspended)
    private let progress: Progress
    private let work: @Sendable () async -> Void
    private let cancelled: @Sendable () -> Void

    /// Makes a task.
    ///
    /// - Parameters:
    ///   - progress: Where the work reports how far it has come.
    ///   - work: Performs the request and calls the completion handler.
    ///   - cancelled: Calls the completion handler of a task that is cancelled before it begins.
    init(progress: Progress, work: @escaping @Sendable () async -> Void, cancelled: @escaping @Sendable () -> Void) {
        self.progress = progress
        self.work = work
        self.cancelled = cancelled
    }

    /// How much of the request's body has been sent.
    public var uploadProgress: TransferProgress { progress.upload.withLock { $0 } }

    /// How much of the response's body has come.
    public var downloadProgress: TransferProgress { progress.download.withLock { $0 } }

    /// Begins; has no effect the second time.
    public func resume() {
        state.withLock { state in
            guard case .suspended = state else { return }
            state = .running(
                Task.detached { [self, work] in
                    await work()
                    self.state.withLock { $0 = .finished }
                })
        }
    }

    /// Ends the transfer; the completion handler gets a `CancellationError`, unless the response is there already.
    public func cancel() {
        let isFirst = state.withLock { state in
            switch state {
            case .running(let task):
                task.cancel()
                return false
            case .suspended:
                state = .finished
                return true
            case .finished:
                return false
            }
        }
        if isFirst { cancelled() }
    }
}
