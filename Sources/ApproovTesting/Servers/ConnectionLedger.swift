import NIOCore
import NIOTLS
import Synchronization

/// Counts what happens on a server's connections and can end them.
final class ConnectionLedger: Sendable {
    private struct State {
        var counters = ServerCounters()
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state = Mutex(State())

    var counters: ServerCounters { state.withLock(\.counters) }

    func opened(_ channel: any Channel) {
        state.withLock { state in
            state.counters.connections += 1
            state.counters.open += 1
            state.channels[ObjectIdentifier(channel)] = channel
        }
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.counters.open -= 1
                state.channels[ObjectIdentifier(channel)] = nil
            }
        }
    }

    func completedHandshake() { state.withLock { $0.counters.handshakes += 1 } }

    func receivedRequest() { state.withLock { $0.counters.requests += 1 } }

    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }

    /// Closes every connection and waits until each has closed, including those accepted at the last moment.
    func closeAllAndWait() async {
        while true {
            let channels = state.withLock { Array($0.channels.values) }
            guard !channels.isEmpty else { return }
            // All at once: a TLS connection waits a second for a peer that does not close its side.
            for channel in channels { channel.close(promise: nil) }
            for channel in channels { try? await channel.closeFuture.get() }
            // The ledger learns of the close at the same moment; let it update its list first.
            await Task.yield()
        }
    }
}
