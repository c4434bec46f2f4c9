package import Logging
internal import Synchronization

/// Limits the lines per minute that a log gets about an event that clients can cause as often as they like.
///
/// The metrics count every event. The log shows the first ones of each minute in full, and how many it left out, so that a flood cannot
/// fill a disk. At level `debug` the log shows them all.
package final class LogAllowance: Sendable {
    /// What happens to one line.
    enum Decision: Equatable {
        /// Log it; `leftOut` lines were left out since the last one.
        case log(leftOut: Int)
        /// Leave it out.
        case leaveOut
    }

    /// Counts the lines of one minute.
    struct State {
        private static let pause: Duration = .seconds(60)

        private let lines: Int
        private var began: Duration?
        private var logged = 0
        private var leftOut = 0

        init(lines: Int) { self.lines = lines }

        mutating func draw(at uptime: Duration) -> Decision {
            if began.map({ uptime - $0 >= Self.pause }) ?? true { (began, logged) = (uptime, 0) }
            guard logged < lines else {
                leftOut += 1
                return .leaveOut
            }
            logged += 1
            defer { leftOut = 0 }
            return .log(leftOut: leftOut)
        }
    }

    private let state: Mutex<State>

    /// Makes an allowance.
    ///
    /// - Parameter lines: The most lines within a minute.
    package init(linesPerMinute lines: Int = 30) { state = Mutex(State(lines: lines)) }

    /// Logs a line at level `notice` while the minute's allowance lasts, and at `debug` after that.
    ///
    /// - Parameters:
    ///   - message: The line.
    ///   - logger: Where it goes.
    ///   - uptime: The monotonic time.
    ///   - metadata: The line's metadata; made only when the line is logged.
    package func notice(_ message: Logger.Message, to logger: Logger, at uptime: Duration, metadata: @autoclosure () -> Logger.Metadata) {
        log(.notice, message, to: logger, at: uptime, metadata: metadata())
    }

    /// Logs a line while the minute's allowance lasts, and at `debug` after that.
    ///
    /// - Parameters:
    ///   - level: The level within the allowance.
    ///   - message: The line.
    ///   - logger: Where it goes.
    ///   - uptime: The monotonic time.
    ///   - metadata: The line's metadata; made only when the line is logged.
    package func log(
        _ level: Logger.Level, _ message: Logger.Message, to logger: Logger, at uptime: Duration,
        metadata: @autoclosure () -> Logger.Metadata
    ) {
        guard logger.logLevel <= level else { return }
        switch state.withLock({ $0.draw(at: uptime) }) {
        case .log(let leftOut):
            let count: Logger.Metadata = leftOut > 0 ? ["leftOut": "\(leftOut)"] : [:]
            logger.log(level: level, message, metadata: metadata().merging(count) { $1 })
        case .leaveOut: logger.debug(message, metadata: metadata())
        }
    }
}
