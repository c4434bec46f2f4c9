internal import ApproovBase
internal import Dispatch
internal import OAuth2
internal import Synchronization

/// Carries out one call to the Secret Service after the other, on a thread that may block.
final class SecretServiceCalls: Sendable {
    /// The most calls at once.
    ///
    /// More can only come together behind a service that answers neither a call nor its cancellation.
    private static let maximumCalls = 100_000

    private let busAddress: String?
    private let timeout: Duration
    private let clock: any TimeSource
    private let queue = DispatchQueue(label: "approov.secret-service")
    /// The connection of the last call that succeeded.
    ///
    /// The lock is held during a call, and only by the queue.
    private let kept = Mutex<SecretServiceConnection?>(nil)
    /// The number of calls that the queue has.
    private let count = Mutex(0)

    /// Makes no connection yet.
    ///
    /// - Parameters:
    ///   - busAddress: The bus; nil for the process's session bus.
    ///   - timeout: The longest time for a call, with the time that it waits for earlier ones.
    ///   - clock: The source of the time.
    init(busAddress: String?, timeout: Duration, clock: any TimeSource) {
        self.busAddress = busAddress
        self.timeout = timeout
        self.clock = clock
    }

    /// Runs `body` with a connection; again with a new one if the service has ended since the last call.
    ///
    /// - Parameter body: The calls, which may be carried out twice.
    /// - Returns: What `body` returns.
    /// - Throws: `OAuth2Error` with code `storeFailed` or `storeBusy`; `CancellationError`.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceConnection, Cancellation) throws(SecretServiceFailure) -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            defer { group.cancelAll() }
            group.addTask { [self] in try await perform(body) }
            group.addTask { [clock, timeout] in
                try await clock.sleep(for: timeout)
                return nil
            }
            guard let value = try await group.next() ?? nil else { throw SecretServiceFailure.tookTooLong(timeout) }
            return value
        }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceConnection, Cancellation) throws(SecretServiceFailure) -> Value
    ) async throws -> Value {
        let isTooMany = count.withLock { count in
            guard count < Self.maximumCalls else { return true }
            count += 1
            return false
        }
        guard !isTooMany else {
            throw OAuth2Error(.storeBusy, "\(Self.maximumCalls) calls wait for the Secret Service, which does not answer; start it again")
        }
        let cancellation = Cancellation()
        let reply = Reply<Result<Value, SecretServiceFailure>>()
        let result = await withTaskCancellationHandler {
            await reply.value {
                queue.async { [self] in
                    reply.give(Result { () throws(SecretServiceFailure) in try connected(cancellation, body) })
                    count.withLock { $0 -= 1 }
                }
            }
        } onCancel: {
            cancellation.cancel()
            // libsecret waits until the service confirms that it no longer asks the user. The caller does not.
            reply.give(.failure(SecretServiceFailure(.cancelled, "cancelled")))
        }
        do {
            return try result.get()
        } catch {
            // The caller's task or the timeout cancelled the call.
            try Task.checkCancellation()
            throw error.described
        }
    }

    /// Runs `body` on this thread.
    private func connected<Value: Sendable>(
        _ cancellation: Cancellation, _ body: (SecretServiceConnection, Cancellation) throws(SecretServiceFailure) -> Value
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
