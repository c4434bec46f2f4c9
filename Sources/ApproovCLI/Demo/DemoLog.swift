import Logging
import Synchronization

/// Everything that a server logs, whatever the level.
final class DemoLog: Sendable {
    private let text = Mutex("")

    var contents: String { text.withLock { $0 } }

    func logger(_ label: String) -> Logger { Logger(label: label) { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: DemoLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            let details = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            log.text.withLock { $0 += "\(event.level) \(event.message) \(details)\n" }
        }
    }
}
