public import Logging
import Synchronization

/// A record of log lines, at every level.
public final class LogRecord: Sendable {
    private let state = Mutex<[String]>([])

    /// Makes an empty record.
    public init() {}

    /// The lines so far, each with its level, message and metadata.
    public var lines: [String] { state.withLock { $0 } }

    /// Waits for a line that contains a text.
    ///
    /// Servers write their lines after a response has gone out, so the client may see the response first.
    /// - Parameters:
    ///   - text: The text that the line must contain.
    ///   - limit: The maximum time to wait.
    /// - Returns: All lines so far, whether or not the wanted one came in time.
    public func lines(with text: String, within limit: Duration = .seconds(90)) async -> [String] {
        _ = await eventually(within: limit) { lines.contains { $0.contains(text) } }
        return lines
    }

    /// A logger that writes into this record.
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
