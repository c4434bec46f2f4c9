internal import Synchronization

/// The last value that was made: where many requests in a row go to one resource, what is made of them is the same each time.
package final class LastValue<Key: Equatable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        let key: Key
        let value: Value
    }

    private let entry = Mutex<Entry?>(nil)

    package init() {}

    /// The last value if it was made of the same key, otherwise a new one.
    ///
    /// - Parameters:
    ///   - key: All that the value depends on.
    ///   - isKept: Whether a new value may be given out again.
    ///   - make: Makes it.
    /// - Returns: The value.
    /// - Throws: What `make` throws; nothing is kept then.
    package func value<Failure: Error>(
        for key: Key, isKept: (Value) -> Bool = { _ in true }, make: (Key) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if let entry = entry.withLock({ $0 }), entry.key == key { return entry.value }
        let value = try make(key)
        if isKept(value) { entry.withLock { $0 = Entry(key: key, value: value) } }
        return value
    }
}
