internal import Synchronization

/// A value that one of several threads gives, and one task waits for; the first value counts.
final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case given(Value)
        case taken
    }

    private let state = Mutex(State.open)

    /// Runs `start`, which begins what leads to the value, and returns the value; called once.
    func value(_ start: () -> Void) async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value? in
                if case .given(let value) = state {
                    state = .taken
                    return value
                }
                state = .awaited(continuation)
                return nil
            }
            start()
            if let value { continuation.resume(returning: value) }
        }
    }

    /// Gives the value, unless there is one.
    func give(_ value: Value) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .open: state = .given(value)
            case .awaited(let continuation):
                state = .taken
                return continuation
            case .given, .taken: break
            }
            return nil
        }
        continuation?.resume(returning: value)
    }
}
