import ApproovBase
import Attestation
import Dispatch

/// A lock on a file, as another process would hold it: until ``release()``, or until this object is deallocated.
package final class HeldLock: Sendable {
    private let releasing = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    /// Takes the lock.
    /// - Parameter path: The path of the lock file, whose folder must exist.
    /// - Throws: When the lock cannot be taken.
    package init(_ path: String) throws {
        let (releasing, released) = (releasing, released)
        let taken = DispatchSemaphore(value: 0)
        let failure = Shared<(any Error)?>(nil)
        // Holding the lock blocks a thread, so it gets its own.
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

    /// Releases the lock, and returns once it is free.
    package func release() {
        releasing.signal()
        released.wait()
    }
}
