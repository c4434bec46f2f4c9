/// The first token, and what it needs, on their way; ends when the last session that shares it is gone.
final class Prefetching: Sendable {
    private let task: Task<Void, Never>

    init(_ body: @escaping @Sendable () async -> Void) { task = Task.detached { await body() } }

    deinit { task.cancel() }

    /// Ends it for all sessions that share it.
    func cancel() { task.cancel() }
}
