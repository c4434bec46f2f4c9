import ApproovBase
import Attestation
import Dispatch

/// The lock on a file, held as another process would: until it is released, or nobody holds this.
package final class HeldLock: Sendable {
    private let releasing = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    /// Takes the lock.
    /// - Parameter path: The lock's file; its folder must exist.
    /// - Throws: When it cannot be had.
    package init(_ path: String) throws {
        let (releasing, released) = (releasing, released)
        let taken = DispatchSemaphore(value: 0)
        let failure = Shared<(any Error)?>(nil)
        // A thread of its own: it stands still inside.
        DispatchQueue(label: "held-lock").async {
            do {
                try FileLock(path: path).withLock {
                    taken.signal()
                    releasing.wait()
                }
            } catch {
                failure.value = error
                taken.signal()
            }
            released.signal()
        }
        taken.wait()
        if let error = failure.value { throw error }
    }

    deinit { releasing.signal() }

    /// Gives the lock back, and returns once it is free.
    package func release() {
        releasing.signal()
        released.wait()
    }
}
