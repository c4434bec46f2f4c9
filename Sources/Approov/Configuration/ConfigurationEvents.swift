import Synchronization

/// Hands events to every listener; those from before the first listener wait for it.
final class ConfigurationEvents: Sendable {
    /// How many events wait for a listener that does not read; the oldest go first.
    static let backlogLimit = 16

    private struct State {
        var backlog: [ConfigurationEvent] = []
        var listeners: [UInt64: AsyncStream<ConfigurationEvent>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    deinit {
        for listener in state.withLock({ $0.listeners }).values { listener.finish() }
    }

    func send(_ event: ConfigurationEvent) {
        let listeners = state.withLock { state in
            if state.listeners.isEmpty, state.nextID == 0 {
                state.backlog.append(event)
                if state.backlog.count > Self.backlogLimit { state.backlog.removeFirst() }
            }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(event) }
    }

    func stream() -> AsyncStream<ConfigurationEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ConfigurationEvent.self, bufferingPolicy: .bufferingNewest(Self.backlogLimit))
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
