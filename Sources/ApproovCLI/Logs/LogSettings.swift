import ArgumentParser
import Foundation
import Logging

/// A command's log format and level.
struct LogSettings: Equatable {
    /// The format of a line.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        /// Text for people.
        case text
        /// One JSON object a line (RFC 8259).
        case json
    }

    /// The least severe level that is logged.
    var level: Logger.Level
    var format = Format.text

    /// The names of the levels, for help and messages.
    static let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

    init(level: Logger.Level, format: Format = .text) {
        self.level = level
        self.format = format
    }

    /// Reads the settings from the environment.
    /// - Parameters:
    ///   - standard: The level when LOG_LEVEL is unset or empty.
    ///   - environment: The environment.
    /// - Throws: `CommandFailure` with the list of levels when LOG_LEVEL is not one of them.
    init(standard: Logger.Level, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        self.init(level: standard)
        guard let name = environment["LOG_LEVEL"], !name.isEmpty else { return }
        guard let level = Self.level(named: name) else {
            throw CommandFailure(
                "the value of LOG_LEVEL is not a log level; set it to one of \(Self.levels)", exitCode: CommandFailure.usage)
        }
        self.level = level
    }

    /// The level with a name, upper or lower case; nil for an unknown name.
    ///
    /// `warn` is `warning`, as in many other programs, with which this one may share its environment.
    static func level(named name: String) -> Logger.Level? {
        let name = name.lowercased()
        return Logger.Level(rawValue: name == "warn" ? "warning" : name)
    }
}
