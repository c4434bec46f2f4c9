public import Logging
import Synchronization

/// What was logged, at every level.
public final class LogRecord: Sendable {
    private let state = Mutex<[String]>([])

    /// Begins a record.
    public init() {}

    /// The lines so far, each with its level, message and metadata.
    public var lines: [String] { state.withLock { $0 } }

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
