public import Logging
import Synchronization

/// What was logged, at every level.
public final class LogRecord: Sendable {
    private let state = Mutex<[String]>([])

    /// Begins a record.
    public init() {}

    /// The lines so far, each with its level, message and metadata.
    public var lines: [String] { state.withLock { $0 } }

    /// Waits for a line: servers write theirs when an answer has gone out, which its client may see first.
    /// - Parameters:
    ///   - text: What stands in it.
    ///   - limit: How long at most.
    /// - Returns: All lines, with the one that was waited for unless it did not come.
    public func lines(with text: String, within limit: Duration = .seconds(5)) async -> [String] {
        let end = ContinuousClock.now + limit
        while !lines.contains(where: { $0.contains(text) }), ContinuousClock.now < end, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(2))
        }
        return lines
    }

    /// A logger that writes here.
    public var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(record: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let record: LogRecord
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            record.state.withLock { $0.append("\(event.level) \(event.message) \(all)") }
        }
    }
}
