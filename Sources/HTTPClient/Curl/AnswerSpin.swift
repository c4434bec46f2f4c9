import Foundation
import Synchronization

/// Lets a task wait for the head of its response without giving up its thread, if the response will probably come at once.
///
/// Only while one request is under way: with several, the threads have other work, and requests that leave together cost less.
final class AnswerSpin: Sendable {
    private let spin: Mutex<AdaptiveSpin>
    /// Whether no request was alone since several were under way, or since the beginning.
    private let isResting = Atomic(true)

    /// - Parameter limit: The longest spin, in nanoseconds; 0: no spin at all.
    init(limit: UInt64) { spin = Mutex(AdaptiveSpin(limit: limit)) }

    /// Whether the next response will probably come at once.
    var isWorthwhile: Bool { spin.withLock(\.isWorthwhile) }

    /// Waits until the head of a response has come, or for the longest spin.
    func wait(for exchange: CurlExchange, since start: UInt64) {
        let limit = spin.withLock(\.limit)
        while exchange.headArrival == 0, CurlLoop.clock() - start < limit { sched_yield() }
    }

    /// Notes when the head of a response came; both in the driver's nanoseconds.
    func note(start: UInt64, head: UInt64) {
        isResting.store(false, ordering: .relaxed)
        spin.withLock { $0.note(head > start ? head - start : 0) }
    }

    /// Makes the next waits sleeps, because several requests are under way: among them, one may be alone for a moment.
    func rest() {
        // Costs busy callers no lock.
        guard !isResting.load(ordering: .relaxed) else { return }
        isResting.store(true, ordering: .relaxed)
        spin.withLock { $0.rest() }
    }
}
