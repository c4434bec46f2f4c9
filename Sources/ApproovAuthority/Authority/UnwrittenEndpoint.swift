internal import Synchronization

/// Holds the authority's URL and keys while the store cannot be written.
final class UnwrittenEndpoint: Sendable {
    private let state = Mutex<Endpoint?>(nil)

    var value: Endpoint? { state.withLock { $0 } }

    func set(_ endpoint: Endpoint?) {
        state.withLock { $0 = endpoint }
    }
}
