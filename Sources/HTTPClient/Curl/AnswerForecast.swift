import Synchronization

/// Predicts whether the head of the response to the only request under way will come so soon that its caller may wait for it.
///
/// While several requests are under way, no response is predicted to come soon: the threads have other work, and requests that leave
/// together cost less.
final class AnswerForecast: Sendable {
    /// How soon an answer comes that a caller waits for, in nanoseconds; a server in the same data centre answers sooner.
    static let standardLimit: UInt64 = 250_000

    private let forecast: Mutex<WaitForecast>
    /// Whether no request was alone since several were under way, or since the beginning.
    private let isReset = Atomic(true)

    /// - Parameter limit: The latest moment that is soon, in nanoseconds; 0: no answer is predicted.
    init(limit: UInt64) { forecast = Mutex(WaitForecast(limit: limit)) }

    /// Whether the next answer will probably come soon.
    var isSoon: Bool { forecast.withLock(\.isShort) }

    /// Whether the next answer will probably come in half of that time.
    var isImminent: Bool { forecast.withLock(\.isVeryShort) }

    /// Notes when the head of a response came; both in the driver's nanoseconds.
    func note(start: UInt64, head: UInt64) {
        isReset.store(false, ordering: .relaxed)
        forecast.withLock { $0.note(head > start ? head - start : 0) }
    }

    /// Forgets the answers so far, because several requests are under way: among them, one may be alone for a moment.
    func reset() {
        // Costs busy callers no lock.
        guard !isReset.load(ordering: .relaxed) else { return }
        isReset.store(true, ordering: .relaxed)
        forecast.withLock { $0.reset() }
    }
}
