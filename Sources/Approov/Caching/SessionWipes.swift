package import Foundation
import Synchronization

/// Tells caches about the wipes of a session, and of the sessions that share everything with it.
package final class SessionWipes: Sendable {
    private struct Weak {
        weak var observer: (any WipeObserver)?
    }

    /// A name that no other session has.
    package let id = UUID()
    private let observers = Mutex<[Weak]>([])

    init() {}

    /// Adds an observer, which is not retained; does nothing if it was added before.
    package func add(_ observer: any WipeObserver) {
        observers.withLock { observers in
            guard !observers.contains(where: { $0.observer === observer }) else { return }
            observers.removeAll { $0.observer == nil }
            observers.append(Weak(observer: observer))
        }
    }

    func wipe(_ scope: WipeScope) {
        // The last reference to an observer must not end under the lock.
        let observers = observers.withLock { $0.compactMap(\.observer) }
        for observer in observers { observer.wipe(id, scope) }
    }
}
