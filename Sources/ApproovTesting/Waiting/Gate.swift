import Synchronization

/// An event that happens once: tasks wait at the gate until another one opens it.
package final class Gate: Sendable {
    private enum State {
        case closed([Int: CheckedContinuation<Void, any Error>], next: Int)
        case open
    }

    private let state = Mutex(State.closed([:], next: 0))

    package init() {}

    package var isOpen: Bool {
        state.withLock { if case .open = $0 { true } else { false } }
    }

    /// The number of tasks that wait.
    package var waiterCount: Int {
        state.withLock { if case .closed(let waiters, _) = $0 { waiters.count } else { 0 } }
    }

    /// Lets all waiting tasks go on, and every later one pass.
    package func open() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard case .closed(let waiters, _) = state else { return [] }
            state = .open
            return Array(waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the gate is open.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    package func wait() async throws {
        try Task.checkCancellation()
        let number = state.withLock { state -> Int? in
            guard case .closed(let waiters, let next) = state else { return nil }
            state = .closed(waiters, next: next + 1)
            return next
        }
        guard let number else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    guard case .closed(var waiters, let next) = state else { return .success(()) }
                    // Looked at under the lock: the cancellation handler either ran before this, or will find the waiter.
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    waiters[number] = continuation
                    state = .closed(waiters, next: next)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard case .closed(var waiters, let next) = state else { return nil }
                let waiter = waiters.removeValue(forKey: number)
                state = .closed(waiters, next: next)
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}

/// Waits until the task is cancelled.
/// - Throws: `CancellationError`, always.
package func waitForCancellation() async throws -> Never {
    try await Gate().wait()
    throw CancellationError()
}
