public import HTTPClient
import Synchronization

/// A request for callers that do not use async: ``resume()`` starts it, and its completion handler gets the result.
public final class ApproovTask: Sendable {
    /// What a task does.
    public enum State: Sendable, Hashable {
        /// It has not been started, or is suspended.
        case suspended
        /// It sends and receives.
        case running
        /// It was cancelled, and its completion handler has not returned yet.
        case canceling
        /// Its completion handler has returned, or the operations of the handler's queue were cancelled.
        case completed
    }

    /// The number of the task, which no other task of the same session has.
    public let taskIdentifier: Int

    private struct Guarded {
        var state = State.suspended
        var work: Task<Void, Never>?
        /// The number under which the session's life knows the task; nil once it does not.
        var id: UInt64?
    }

    private let guarded = Mutex(Guarded())
    private let report: TaskReport
    private let control: TransferControl
    private let work: @Sendable () async -> Void
    private let cancelled: @Sendable () async -> Void
    private let life: SessionLife

    /// Creates a task.
    ///
    /// - Parameters:
    ///   - identifier: The task's number.
    ///   - report: The object in which `work` reports progress.
    ///   - control: Suspends the transfers of `work`.
    ///   - life: The life of the task's session, whose cancellation cancels the task if it was not started.
    ///   - isAdmitted: Whether the session was valid when the task was made.
    ///   - work: Performs the request and calls the completion handler.
    ///   - cancelled: Calls the completion handler when the task is cancelled before it starts.
    init(
        identifier: Int, report: TaskReport, control: TransferControl, life: SessionLife, isAdmitted: Bool,
        work: @escaping @Sendable () async -> Void,
        cancelled: @escaping @Sendable () async -> Void
    ) {
        taskIdentifier = identifier
        self.report = report
        self.control = control
        self.work = work
        self.cancelled = cancelled
        self.life = life
        // Another one gets its error when it is started.
        guard isAdmitted else { return }
        let id = life.note(self)
        guarded.withLock { $0.id = id }
        // The session may have been cancelled before it knew the task.
        if life.isCancelled { cancelUnstarted() }
    }

    deinit { forget() }

    /// Has the session's life forget the task.
    private func forget() {
        let id = guarded.withLock { $0.id.take() }
        if let id { life.forget(id) }
    }

    /// What the task does now.
    public var state: State { guarded.withLock { $0.state } }

    /// The number of bytes of the request's body that have been sent.
    public var uploadProgress: TransferProgress { report.progress.upload }

    /// The number of bytes of the response's body that have been received.
    public var downloadProgress: TransferProgress { report.progress.download }

    /// The progress of the upload and the download; each access makes a sequence that begins with the progress so far.
    ///
    /// A slow reader gets the newest progress only. The sequence ends with the task.
    public var progress: AsyncStream<TaskProgress> { report.stream() }

    /// Starts the task, or lets it go on after ``suspend()``; in other states it has no effect.
    ///
    /// If the work of a barrier starts the task, its request passes the barrier's gate; see ``RequestGate/barrier(waiting:limit:_:)``.
    public func resume() {
        let isResumed = guarded.withLock { guarded in
            guard guarded.state == .suspended else { return false }
            guarded.state = .running
            guard guarded.work == nil else { return true }
            guarded.work = Task { [self, work] in
                await work()
                complete()
            }
            return false
        }
        forget()
        // The state may have changed again, so the control follows it, not this call.
        if isResumed { updateControl() }
    }

    /// Stops a running task until ``resume()``; in other states it has no effect.
    ///
    /// The transfer stops on the wire. The caller gets nothing more. Of the request's body, the transport sends only what its buffers
    /// already hold.
    ///
    /// Over HTTP/2, while other requests use the connection, the server may still send as much as the stream's window allows. libcurl holds
    /// that in memory: at most 32 MiB for each suspended task with libcurl 7.88, which has no option for the window. Without other
    /// requests, and over HTTP/1.1, it holds at most 1 MiB.
    ///
    /// The total timeout of the request goes on; its idle timeout does not. After 60 seconds the transport closes the connection, and the
    /// task fails with code `timedOut`. To stop a download for longer, cancel it and resume it with
    /// ``ApproovSession/download(for:resuming:onToken:onProgress:)``. A `transport` other than `CurlTransport` does not stop what it has
    /// begun.
    public func suspend() {
        let isSuspended = guarded.withLock { guarded in
            guard guarded.state == .running else { return false }
            guarded.state = .suspended
            return true
        }
        if isSuspended { updateControl() }
    }

    /// Cancels the task; the completion handler gets a `CancellationError`, unless the request has already finished.
    ///
    /// This call does not run the handler; the wrapped session's `delegateQueue` does.
    public func cancel() { cancel(onlyUnstarted: false) }

    /// Cancels the task if it was not started.
    func cancelUnstarted() { cancel(onlyUnstarted: true) }

    private func cancel(onlyUnstarted: Bool) {
        let (work, isUnstarted) = guarded.withLock { guarded -> (Task<Void, Never>?, Bool) in
            guard guarded.state == .suspended || guarded.state == .running, !onlyUnstarted || guarded.work == nil else {
                return (nil, false)
            }
            guarded.state = .canceling
            return (guarded.work, guarded.work == nil)
        }
        work?.cancel()
        guard isUnstarted else { return }
        forget()
        // Not on the caller's stack: the caller may hold a lock that the handler takes.
        Task { [self, cancelled] in
            await cancelled()
            complete()
        }
    }

    private func complete() {
        guarded.withLock { $0.state = .completed }
        report.finish()
    }

    private func updateControl() {
        guarded.withLock { guarded in
            if guarded.state == .suspended { control.suspend() } else { control.resume() }
        }
    }
}
