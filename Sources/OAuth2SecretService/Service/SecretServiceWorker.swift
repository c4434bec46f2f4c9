internal import Dispatch
internal import Synchronization

/// A thread that may block, and the connection that it uses.
final class SecretServiceWorker: Sendable {
    private let queue = DispatchQueue(label: "approov.secret-service")
    /// The connection of the last call that succeeded.
    ///
    /// The lock is held during a call, and only by the queue.
    private let kept = Mutex<SecretServiceConnection?>(nil)
    private let count = Mutex(0)

    /// The number of calls that have not ended.
    var pendingCount: Int { count.withLock { $0 } }

    /// Runs `body` with a connection, after the calls that came earlier; again with a new connection if the service has ended since the last
    /// call.
    ///
    /// - Parameters:
    ///   - busAddress: The bus; nil for the process's session bus.
    ///   - cancellation: Ends the call.
    ///   - body: The call, which may be carried out twice.
    ///   - completion: Takes the result.
    func run<Value: Sendable>(
        on busAddress: String?, _ cancellation: Cancellation,
        _ body: @escaping @Sendable (SecretServiceConnection, Cancellation) throws(SecretServiceFailure) -> Value,
        completion: @escaping @Sendable (Result<Value, SecretServiceFailure>) -> Void
    ) {
        count.withLock { $0 += 1 }
        queue.async { [self] in
            completion(Result { () throws(SecretServiceFailure) in try connected(busAddress, cancellation, body) })
            count.withLock { $0 -= 1 }
        }
    }

    private func connected<Value: Sendable>(
        _ busAddress: String?, _ cancellation: Cancellation,
        _ body: (SecretServiceConnection, Cancellation) throws(SecretServiceFailure) -> Value
    ) throws(SecretServiceFailure) -> Value {
        try kept.withLock { kept throws(SecretServiceFailure) in
            if let connection = kept {
                do throws(SecretServiceFailure) {
                    return try body(connection, cancellation)
                } catch {
                    kept = nil
                    // The service, or the bus, may have been started again since the last call. Each call may be repeated: it brings about
                    // the same state.
                    guard error.kind == .ended || error.kind == .noService else { throw error }
                }
            }
            let connection = try SecretServiceConnection(busAddress: busAddress, cancellation)
            let value = try body(connection, cancellation)
            kept = connection
            return value
        }
    }
}
