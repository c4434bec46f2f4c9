internal import Synchronization

/// The task that answers a request, which the connection's end cancels.
///
/// It is a handle to the running task: a further task for each request would cost more than many requests do.
final class RequestTask: Sendable {
    // Any thread may cancel a task through this handle while the task runs, and `end` is called before the handle becomes invalid.
    private nonisolated(unsafe) let task: UnsafeCurrentTask?
    private let isOver = Mutex(false)

    /// Makes a handle to the current task.
    init(_ task: UnsafeCurrentTask?) { self.task = task }

    /// Cancels the task, unless the request is over.
    func cancel() {
        // Within the lock, so that `end` waits: after it the handle is invalid.
        isOver.withLock { if !$0 { task?.cancel() } }
    }

    /// Notes that the request is over: from now on the task is not cancelled.
    func end() { isOver.withLock { $0 = true } }
}
