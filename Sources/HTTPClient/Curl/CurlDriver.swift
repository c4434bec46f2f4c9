import COpenSSL
import Foundation
import Synchronization

/// Runs the loop of a transport: usually on the transport's own thread, and for a lone request with a quick answer on its caller's.
///
/// Each change of threads goes through the kernel. On a virtual machine it takes tens of microseconds, as long as a server nearby takes to
/// answer. So while requests go out one at a time and their answers come soon, the transport's thread leaves the loop, and each caller runs it
/// until the head of its response is there. If the answer is imminent, the caller looks for it again and again before it sleeps, because
/// falling asleep and waking up take long, too.
final class CurlDriver: Sendable {
    /// The longest time that a caller runs the loop, in nanoseconds.
    ///
    /// If its answer takes longer, the transport's thread takes over.
    static let standardTurn: UInt64 = 1_000_000
    /// How long the transport's thread stays away from the loop, in milliseconds; then it looks whether callers still run it.
    private static let longestAbsence: Int32 = 1_000
    /// The number of turns after which a task yields its thread; each time takes as long as a tenth of a request.
    private static let turnsPerYield: UInt64 = 16
    /// The longest time that a caller looks for its answer before it sleeps, in nanoseconds.
    private static let standardSpin: UInt64 = AnswerForecast.standardLimit / 2

    let mailbox: CurlMailbox
    private let forecast: AnswerForecast
    private let longestTurn: UInt64
    /// How long this process's callers look for an answer before they sleep, in nanoseconds; 0 on one processor.
    let longestSpin: UInt64
    private let turns = Atomic<UInt64>(0)
    /// The thread that holds the lock runs the loop.
    private let loop: Mutex<CurlLoop>

    /// Makes the driver; ``run()`` must follow, on the transport's thread.
    ///
    /// - Parameters:
    ///   - configuration: The transport's limits.
    ///   - forecast: Predicts whether callers may run the loop.
    ///   - longestTurn: The longest time that a caller runs the loop, in nanoseconds.
    /// - Throws: ``TransportError`` with code `internalError` when the system gives no descriptor.
    init(
        configuration: CurlTransportConfiguration, forecast: AnswerForecast, longestTurn: UInt64 = standardTurn
    ) throws(TransportError) {
        self.forecast = forecast
        self.longestTurn = longestTurn
        // On one processor, a spin would only keep what it waits for from running.
        longestSpin = ProcessorShare.allowsTwoThreads() ? Self.standardSpin : 0
        mailbox = try CurlMailbox()
        loop = Mutex(try CurlLoop(mailbox: mailbox, configuration: configuration, forecast: forecast))
    }

    /// Runs the loop until the message `stop` arrives.
    func run() {
        while loop.withLock({ $0.run() }) == .idle {
            // Callers may run the loop meanwhile. Whatever they cannot finish wakes this thread.
            guard mailbox.mayFallAsleep() else { continue }
            var wake = pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&wake, 1, Self.longestAbsence)
        }
    }

    /// Whether a caller may run the loop for its next request.
    ///
    /// Not on one processor, nor on an executor that the app chose, such as an event loop: there, requests of other tasks could not begin
    /// during a turn, so that each would be alone.
    var mayTakeTurn: Bool {
        longestSpin > 0 && forecast.isSoon && withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
    }

    /// Runs the loop on the caller's thread until the head of a response has come, if the transport's thread has left it.
    ///
    /// - Parameter exchange: The exchange of a transfer that was posted for its caller.
    /// - Returns: Whether the task should yield its thread to others. A turn may end without any suspension, and so may many in a row.
    func run(for exchange: CurlExchange) -> Bool {
        let isNothingLeft = loop.withLockIfAvailable { loop in
            let spin = forecast.isImminent ? longestSpin : 0
            // OpenSSL has a list of errors for each thread, and this one is the caller's.
            ERR_clear_error()
            let isNothingLeft = SignalMask.withoutSignals { loop.run(for: exchange, atMost: longestTurn, spinning: spin) }
            ERR_clear_error()
            // The answer took too long, or more requests came.
            if exchange.headArrival == 0 { forecast.reset() }
            return isNothingLeft
        }
        if isNothingLeft != true { mailbox.wakeThread() }
        return turns.add(1, ordering: .relaxed).newValue.isMultiple(of: Self.turnsPerYield)
    }
}
