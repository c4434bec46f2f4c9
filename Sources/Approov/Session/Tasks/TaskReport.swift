import HTTPClient
import Synchronization

/// The progress of a task, and those who listen to it.
final class TaskReport: Sendable {
    private struct Guarded {
        var progress = TaskProgress()
        var listeners: [UInt64: AsyncStream<TaskProgress>.Continuation] = [:]
        var lastID: UInt64 = 0
        var isFinished = false
    }

    private let guarded = Mutex(Guarded())

    deinit { finish() }

    var progress: TaskProgress { guarded.withLock { $0.progress } }

    /// Changes the progress and tells the listeners.
    func change(_ body: @Sendable (inout TaskProgress) -> Void) {
        let (progress, listeners) = guarded.withLock { guarded in
            body(&guarded.progress)
            return (guarded.progress, guarded.listeners)
        }
        for listener in listeners.values { listener.yield(progress) }
    }

    /// Ends the listeners' sequences.
    func finish() {
        let listeners = guarded.withLock { guarded in
            guarded.isFinished = true
            defer { guarded.listeners = [:] }
            return guarded.listeners
        }
        for listener in listeners.values { listener.finish() }
    }

    func stream() -> AsyncStream<TaskProgress> {
        let (stream, continuation) = AsyncStream.makeStream(of: TaskProgress.self, bufferingPolicy: .bufferingNewest(1))
        let id: UInt64? = guarded.withLock { guarded in
            continuation.yield(guarded.progress)
            guard !guarded.isFinished else { return nil }
            guarded.lastID += 1
            guarded.listeners[guarded.lastID] = continuation
            return guarded.lastID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.guarded.withLock { _ = $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
