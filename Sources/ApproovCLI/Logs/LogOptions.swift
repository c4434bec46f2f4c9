import ArgumentParser
import Logging

/// A command that has log options.
protocol LoggingCommand {
    var logs: LogOptions { get }
}

/// The servers' options `--log` and `--log-level`.
struct LogOptions: ParsableArguments {
    @Option(name: .customLong("log"), help: "The format of the log on standard error; json is one object per line.")
    var format = LogSettings.Format.text

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp(
            "Log this level and more severe ones: \(LogSettings.levels). Default: $LOG_LEVEL, else notice.", valueName: "level"),
        transform: { name in
            guard let level = LogSettings.level(named: name) else { throw ValidationError("use one of \(LogSettings.levels)") }
            return level
        })
    var level: Logger.Level?

    /// The settings of the options or, where one is missing, of the environment.
    /// - Throws: `CommandFailure` when LOG_LEVEL names no level.
    func settings() throws -> LogSettings {
        if let level { return LogSettings(level: level, format: format) }
        var settings = try LogSettings(standard: .notice)
        settings.format = format
        return settings
    }
}
