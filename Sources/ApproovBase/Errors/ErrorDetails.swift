/// The content that every ``CodedError`` stores.
public struct ErrorDetails<Code: ErrorCode>: Sendable {
    /// The kind of failure.
    public let code: Code
    /// The problem and its remedy; safe to log.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    /// Makes the content of an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The problem and its remedy; safe to log.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
