import Logging
import Synchronization

/// Keeps what is logged.
struct RecordingLogHandler: LogHandler {
    final class Record: Sendable {
        private let list = Mutex<[(level: Logger.Level, text: String)]>([])
        var lines: [(level: Logger.Level, text: String)] { list.withLock { $0 } }
        func add(_ level: Logger.Level, _ text: String) { list.withLock { $0.append((level, text)) } }
    }

    let record: Record
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        record.add(event.level, "\(event.message) \(event.metadata ?? [:])")
    }
}
