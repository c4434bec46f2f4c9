public import Synchronization

/// Keeps the last value that was made, because many requests in a row to one resource need the same value.
///
/// Public for the modules of this package alone (SPI): the compiler makes versions for their types, ten times as fast as the generic one,
/// only of public inlinable code.
@_spi(Internals) public final class LastValue<Key: Equatable & Sendable, Value: Sendable>: Sendable {
    /// A class, so that a look-up copies one reference under the lock.
    @usableFromInline final class Entry: Sendable {
        @usableFromInline let key: Key
        @usableFromInline let value: Value

        @inlinable init(key: Key, value: Value) {
            (self.key, self.value) = (key, value)
        }
    }

    @usableFromInline let entry = Mutex<Entry?>(nil)

    /// Keeps nothing yet.
    @inlinable public init() {}

    /// Returns the last value if it was made from the same key, otherwise a new one.
    ///
    /// - Parameters:
    ///   - key: Everything that the value depends on.
    ///   - isKept: Whether a new value may be kept for later calls.
    ///   - make: Makes the value.
    /// - Returns: The last value or the new one.
    /// - Throws: What `make` throws; the kept value then stays.
    @inlinable public func value<Failure: Error>(
        for key: Key, isKept: (Value) -> Bool = { _ in true }, make: (Key) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        if let entry = entry.withLock({ $0 }), entry.key == key { return entry.value }
        let value = try make(key)
        if isKept(value) { entry.withLock { $0 = Entry(key: key, value: value) } }
        return value
    }
}
