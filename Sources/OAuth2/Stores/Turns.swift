internal import Synchronization

/// Lets tasks of this process take turns, one at a time for each key, in the order in which they came.
final class Turns<Key: Hashable & Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// The waiters for each key whose turn is taken.
        var lines: [Key: [Waiter]] = [:]
        var number = 0
    }

    private let state = Mutex(State())

    /// Runs `body` when its turn comes.
    ///
    /// - Parameters:
    ///   - key: What the turn is about.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled while it waits.
    func take<Value: Sendable>(_ key: Key, _ body: () async throws -> Value) async throws -> Value {
        try await wait(for: key)
        defer { pass(key) }
        return try await body()
    }

    private func wait(for key: Key) async throws {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome = state.withLock { state -> Result<Void, any Error>? in
                    // Under the lock: the cancellation handler either ran before this, or will find the waiter.
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    guard state.lines[key] != nil else {
                        state.lines[key] = []
                        return .success(())
                    }
                    state.lines[key, default: []].append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.lines[key]?.firstIndex(where: { $0.number == number }) else { return nil }
                return state.lines[key]?.remove(at: index)
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func pass(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            guard state.lines[key]?.isEmpty == false else {
                state.lines[key] = nil
                return nil
            }
            return state.lines[key]?.removeFirst()
        }
        next?.continuation.resume()
    }
}
