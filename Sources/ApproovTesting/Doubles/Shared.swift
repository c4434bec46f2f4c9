import Synchronization

/// A value, behind a lock, that several tasks share, or a test and its double.
package final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    package init(_ value: Value) { state = Mutex(value) }

    package var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Changes the value atomically.
    /// - Returns: The result of the body.
    @discardableResult
    package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { state.withLock { body(&$0) } }
}
