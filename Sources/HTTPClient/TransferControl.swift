import Synchronization

/// Suspends and resumes the transfers of one task; a transport that knows none of this type goes on.
package final class TransferControl: Sendable {
    private struct State {
        var isSuspended = false
        var transfers: [ObjectIdentifier: @Sendable (Bool) -> Void] = [:]
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())
    /// How long a transfer may be suspended before its connection is closed.
    package let limit: Duration

    /// Makes a control that is not suspended.
    ///
    /// - Parameter limit: How long a transfer may be suspended before its connection is closed.
    package init(limit: Duration = .seconds(60)) { self.limit = limit }

    /// Whether transfers are suspended.
    package var isSuspended: Bool { state.withLock { $0.isSuspended } }

    /// Stops the transfers on the wire.
    package func suspend() { change(to: true) }

    /// Lets the transfers go on.
    package func resume() { change(to: false) }

    /// Returns once the transfers are not suspended.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func waitUntilResumed() async throws {
        guard isSuspended else { return }
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                let isWaiting = state.withLock { state in
                    guard state.isSuspended else { return false }
                    state.waiters[id] = waiter
                    return true
                }
                guard isWaiting else { return waiter.resume() }
                // The cancellation handler may have run before the waiter was kept.
                if Task.isCancelled { withdraw(id) }
            }
        } onCancel: {
            withdraw(id)
        }
    }

    private func withdraw(_ id: UInt64) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }

    private func change(to isSuspended: Bool) {
        let waiters = state.withLock { state in
            guard state.isSuspended != isSuspended else { return [UInt64: CheckedContinuation<Void, any Error>]() }
            state.isSuspended = isSuspended
            // Under the lock, so that the transfers hear of changes in their order.
            for tell in state.transfers.values { tell(isSuspended) }
            defer { if !isSuspended { state.waiters = [:] } }
            return isSuspended ? [:] : state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    // MARK: The transport

    /// Adds a transfer.
    ///
    /// - Parameters:
    ///   - transfer: The transfer, which is not retained.
    ///   - tell: Called with whether it is suspended, at each change and now if it is; must not block.
    func attach(_ transfer: AnyObject, tell: @escaping @Sendable (Bool) -> Void) {
        let id = ObjectIdentifier(transfer)
        state.withLock { state in
            state.transfers[id] = tell
            if state.isSuspended { tell(true) }
        }
    }

    /// Removes a transfer that has ended.
    func detach(_ transfer: AnyObject) {
        let id = ObjectIdentifier(transfer)
        state.withLock { _ = $0.transfers.removeValue(forKey: id) }
    }
}
