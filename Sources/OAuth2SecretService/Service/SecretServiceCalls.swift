internal import ApproovBase
internal import OAuth2
internal import Synchronization

/// Carries out calls to the Secret Service, each within a time.
final class SecretServiceCalls: Sendable {
    private struct Workers {
        var current = SecretServiceWorker()
        /// Those that a cancelled call left behind, until their calls have ended.
        var abandoned: [SecretServiceWorker] = []
    }

    /// The most workers left waiting for a service that has not confirmed closing its prompt.
    private static let maximumAbandoned = 8
    /// The most calls at once.
    private static let maximumCalls = 100_000

    private let busAddress: String?
    private let timeout: Duration
    private let clock: any TimeSource
    private let workers = Mutex(Workers())

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
        let worker = workers.withLock { $0.current }
        guard worker.pendingCount < Self.maximumCalls else {
            throw OAuth2Error(.storeBusy, "\(Self.maximumCalls) calls wait for the Secret Service, which does not answer; start it again")
        }
        let cancellation = Cancellation()
        let reply = Reply<Result<Value, SecretServiceFailure>>()
        let result = await withTaskCancellationHandler {
            await reply.value {
                worker.run(on: busAddress, cancellation, body) { reply.give($0) }
            }
        } onCancel: {
            cancellation.cancel()
            // libsecret waits until the service confirms that it no longer asks the user. The caller does not, nor do later calls.
            abandon(worker)
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

    /// Gives later calls another worker.
    private func abandon(_ worker: SecretServiceWorker) {
        workers.withLock { workers in
            workers.abandoned.removeAll { $0.pendingCount == 0 }
            guard workers.current === worker, workers.abandoned.count < Self.maximumAbandoned else { return }
            workers.abandoned.append(worker)
            workers.current = SecretServiceWorker()
        }
    }
}
