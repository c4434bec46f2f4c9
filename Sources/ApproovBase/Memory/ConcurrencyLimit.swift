internal import Synchronization

/// The most operations that may be under way at once.
package final class ConcurrencyLimit: Sendable {
    /// Counts one operation until the value ends.
    ///
    /// It allocates no memory.
    package struct Permit: ~Copyable, Sendable {
        private let limit: ConcurrencyLimit

        fileprivate init(_ limit: ConcurrencyLimit) { self.limit = limit }

        deinit { limit.taken.wrappingSubtract(1, ordering: .relaxed) }
    }

    /// A permit with several owners; the last reference releases it, if no owner has.
    package final class SharedPermit: Sendable {
        private let permit: Mutex<Permit?>

        package init(_ permit: consuming Permit) { self.permit = Mutex(permit) }

        /// Releases the permit, although there are other references.
        package func release() { permit.withLock { $0 = nil } }
    }

    /// The most permits.
    package let limit: Int
    private let taken = Atomic(0)

    package init(_ limit: Int) { self.limit = limit }

    /// The number of permits that are out.
    package var count: Int { taken.load(ordering: .relaxed) }

    /// Takes a permit; nil when all are out.
    package func permit() -> Permit? {
        var count = taken.load(ordering: .relaxed)
        while count < limit {
            let (isTaken, current) = taken.weakCompareExchange(expected: count, desired: count + 1, ordering: .relaxed)
            if isTaken { return Permit(self) }
            count = current
        }
        return nil
    }
}
