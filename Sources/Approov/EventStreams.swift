import Synchronization

/// Delivers each event to every listener, and keeps events for the first listener until it subscribes.
final class EventStreams<Event: Sendable>: Sendable {
    private struct State {
        var backlog: [Event] = []
        var listeners: [UInt64: AsyncStream<Event>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let backlogLimit: Int
    private let state = Mutex(State())

    /// Creates the streams, without listeners.
    ///
    /// - Parameter backlogLimit: The maximum number of events kept for a listener that does not read; the oldest are dropped first.
    init(backlogLimit: Int) {
        self.backlogLimit = backlogLimit
    }

    deinit {
        for listener in state.withLock({ $0.listeners }).values { listener.finish() }
    }

    func send(_ event: Event) {
        let listeners = state.withLock { state in
            if state.listeners.isEmpty, state.nextID == 0 {
                state.backlog.append(event)
                if state.backlog.count > backlogLimit { state.backlog.removeFirst() }
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(event) }
    }

    func stream() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(backlogLimit))
        let (id, backlog) = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            state.listeners[id] = continuation
            defer { state.backlog = [] }
            return (id, state.backlog)
        }
        for event in backlog { continuation.yield(event) }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
