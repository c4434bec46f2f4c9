import Synchronization

/// The transfers of one session, which it can end together; a transport that knows none of this type ignores it.
package final class TransferGroup: Sendable {
    private let isCancelled = Atomic(false)
    private let reason = Mutex<(any Error)?>(nil)

    package init() {}

    /// Makes transfers that have not started fail; a transport's `cancel(_:)` ends the others.
    ///
    /// - Parameter error: The error that they fail with.
    package func cancel(with error: any Error) {
        reason.withLock { $0 = error }
        isCancelled.store(true, ordering: .releasing)
    }

    /// The error of a cancelled group; nil while transfers may run.
    package var error: (any Error)? { isCancelled.load(ordering: .acquiring) ? reason.withLock { $0 } : nil }
}
