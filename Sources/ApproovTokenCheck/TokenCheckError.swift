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

        /// The authority's or the token check's own settings contradict each other.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// The server's certificate or key cannot be read.
        public static let identityFailed = Code(.identityFailed)
        /// The demo account's published keys on an address that is not loopback.
        public static let demoKeysExposed = Code(.demoKeysExposed)
        /// A handler asked for the verified token of a request that was not checked.
        public static let tokenMissing = Code(.tokenMissing)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened, to what, and the remedy.
    public let message: String
    /// The error below, if there is one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened, to what, and the remedy; nothing secret.
    ///   - cause: The error below.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
