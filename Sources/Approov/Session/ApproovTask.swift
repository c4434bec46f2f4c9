public import HTTPClient
import Synchronization

/// A request for callers that do not use async: `resume()` starts it, and its completion handler gets the result.
public final class ApproovTask: Sendable {
    private enum State {
        case suspended
        case running(Task<Void, Never>)
        case finished
    }

    /// The progress of the upload and the download.
    final class Progress: Sendable {
        let upload = Mutex(TransferProgress(completed: 0, total: nil))
        let download = Mutex(TransferProgress(completed: 0, total: nil))
    }

    private let state = Mutex(State.suspended)
    private let progress: Progress
    private let work: @Sendable () async -> Void
    private let cancelled: @Sendable () -> Void

    /// Creates a task.
    ///
    /// - Parameters:
    ///   - progress: The object in which `work` reports progress.
    ///   - work: Performs the request and calls the completion handler.
    ///   - cancelled: Calls the completion handler when the task is cancelled before it starts.
    init(progress: Progress, work: @escaping @Sendable () async -> Void, cancelled: @escaping @Sendable () -> Void) {
        self.progress = progress
        self.work = work
        self.cancelled = cancelled
    }

    /// The number of bytes of the request's body that have been sent.
    public var uploadProgress: TransferProgress { progress.upload.withLock { $0 } }

    /// The number of bytes of the response's body that have been received.
    public var downloadProgress: TransferProgress { progress.download.withLock { $0 } }

    /// Starts the task; further calls have no effect.
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

    /// Cancels the task; the completion handler gets a `CancellationError`, unless the request has already finished.
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
