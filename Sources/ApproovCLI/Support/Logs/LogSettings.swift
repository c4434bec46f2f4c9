import ArgumentParser
import Foundation
import Logging

/// How a command logs.
struct LogSettings: Equatable {
    /// How a line looks.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        /// For people.
        case text
        /// One JSON object a line (RFC 8259).
        case json
    }

    /// What is less severe is not logged.
    var level: Logger.Level
    var format = Format.text

    /// The names of the levels, for help and messages.
    static let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")

    init(level: Logger.Level, format: Format = .text) {
        self.level = level
        self.format = format
    }

    /// The settings that the environment names.
    /// - Parameters:
    ///   - standard: The level when LOG_LEVEL is unset or empty.
    ///   - environment: The environment.
    /// - Throws: `CommandFailure` with the list of levels for a LOG_LEVEL that is none of them.
    init(standard: Logger.Level, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        self.init(level: standard)
        guard let name = environment["LOG_LEVEL"], !name.isEmpty else { return }
        guard let level = Self.level(named: name) else {
            throw CommandFailure("LOG_LEVEL is no log level; set it to one of \(Self.levels)", exitCode: CommandFailure.usage)
        }
        self.level = level
    }

    /// The level of a name in any case; nil when there is no such level.
    static func level(named name: String) -> Logger.Level? { Logger.Level(rawValue: name.lowercased()) }
}
