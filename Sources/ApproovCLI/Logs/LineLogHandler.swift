import Foundation
import Logging

/// Writes each log event as exactly one line, whatever characters it contains.
struct LineLogHandler: LogHandler {
    private let label: String
    private let format: LogSettings.Format
    private let output: LogOutput
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, settings: LogSettings, output: LogOutput) {
        self.label = label
        format = settings.format
        logLevel = settings.level
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        let line = LogLine(date: .now, level: event.level, label: label, message: "\(event.message)", metadata: all)
        output.write(format == .json ? line.json : line.text)
    }
}
