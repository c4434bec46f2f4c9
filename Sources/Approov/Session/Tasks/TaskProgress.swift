public import HTTPClient

/// How much of a task's request and response has been transferred.
public struct TaskProgress: Sendable, Hashable {
    /// The bytes of the request's body that have been sent.
    public var upload = TransferProgress(completed: 0, total: nil)
    /// The bytes of the response's body that have been received.
    public var download = TransferProgress(completed: 0, total: nil)
}
