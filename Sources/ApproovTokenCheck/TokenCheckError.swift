public import ApproovBase
internal import Foundation

/// An error in how the token check is set up or used.
///
/// The message never holds a key, a secret, a token or a header value.
public struct TokenCheckError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, identityFailed, demoKeysExposed, tokenMissing
        }

        private let name: Name

        private init(_ name: Name) { self.name = name }

        /// The code's name.
        public var description: String { name.rawValue }

        /// A setting of the token check or of the connection guard is invalid, or contradicts another one.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The server's certificate or key cannot be read.
        public static let identityFailed = Code(.identityFailed)
        /// The demo account's published secret is used for an audience that is not a loopback name.
        public static let demoKeysExposed = Code(.demoKeysExposed)
        /// A handler asked for the verified token of a request that was not checked.
        public static let tokenMissing = Code(.tokenMissing)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The underlying error, if any.
    public let cause: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, to what, and the remedy; nothing secret.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
