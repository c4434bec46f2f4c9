/// The message and exit code of a command that fails.
struct CommandFailure: Error {
    /// The message for standard error; `nil` when the command has printed everything already.
    let message: String?
    let exitCode: Int32

    init(_ message: String?, exitCode: Int32 = 1) {
        self.message = message
        self.exitCode = exitCode
    }

    /// The exit code of `approov call` for a status other than 2xx.
    static let otherStatus: Int32 = 22
    static let trustRefused: Int32 = 60
    static let usage: Int32 = 2
}
