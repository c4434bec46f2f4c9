package import Logging

extension Logger {
    /// A logger that discards everything.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
