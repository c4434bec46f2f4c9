package import Logging

extension Logger {
    /// A logger that keeps nothing.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
