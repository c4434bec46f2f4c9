import Synchronization

/// A request's pass through a ``RequestGate``: it counts as outgoing from ``begin()`` to ``end()``, or to its release.
final class GateTicket: Sendable {
    private enum Phase {
        /// Stations 3 to 6 work on the request. The app's code there may wait for a barrier, so a barrier must not wait for them.
        case prepared
        case outgoing
        /// Retriers look at the response. They may wait for a barrier, too.
        case interrupted
        case ended
    }

    /// Thrown when the gate closed while a request was prepared: it waits again.
    struct GateClosed: Error {}

    private let gate: RequestGate
    private let phase = Mutex(Phase.prepared)

    init(_ gate: RequestGate) { self.gate = gate }

    deinit { end() }

    /// Counts the request as outgoing.
    ///
    /// - Throws: `GateClosed` when the gate has closed since the request passed it.
    func begin() throws {
        guard gate.begin() else { throw GateClosed() }
        phase.withLock { $0 = .outgoing }
    }

    /// Takes back ``begin()``, because nothing was sent and the request is prepared again.
    func withdraw() {
        if change(to: .prepared, from: .outgoing) { gate.end() }
    }

    /// Does work, for which no barrier waits.
    func interrupt<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        if change(to: .interrupted, from: .outgoing) { gate.end() }
        defer { if change(to: .outgoing, from: .interrupted) { gate.goOn() } }
        return try await work()
    }

    /// Ends the request; further calls do nothing.
    func end() {
        let wasOutgoing = phase.withLock { phase in
            defer { phase = .ended }
            if case .outgoing = phase { return true }
            return false
        }
        if wasOutgoing { gate.end() }
    }

    private func change(to next: Phase, from expected: Phase) -> Bool {
        phase.withLock { phase in
            guard phase == expected else { return false }
            phase = next
            return true
        }
    }
}
