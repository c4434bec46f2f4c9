import ArgumentParser
import Logging

/// A command with options that say how it logs.
protocol LoggingCommand {
    var logs: LogOptions { get }
}

/// `--log` and `--log-level`, for servers.
struct LogOptions: ParsableArguments {
    @Option(name: .customLong("log"), help: "How lines of the log, on standard error, look. json: one object a line.")
    var format = LogSettings.Format.text

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp(
            "What is logged: this and worse; of \(LogSettings.levels). Default: $LOG_LEVEL, else notice.", valueName: "level"),
        transform: { name in
            guard let level = LogSettings.level(named: name) else { throw ValidationError("use one of \(LogSettings.levels)") }
            return level
        })
    var level: Logger.Level?

    /// What the options say, and the environment where they do not.
    /// - Throws: `CommandFailure` for a LOG_LEVEL that is none
    func settings() throws -> LogSettings {
        if let level { return LogSettings(level: level, format: format) }
        var settings = try LogSettings(standard: .notice)
        settings.format = format
        return settings
    }
}
