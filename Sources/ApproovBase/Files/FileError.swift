internal import Foundation

/// Why a file that must be private to its user cannot be read or written.
public struct FileError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public enum Code: String, Sendable, CustomStringConvertible {
        /// Others may read or write the file, it belongs to another user, or it is not a regular file.
        case fileUnsafe
        /// The system does not let this process read the file.
        case fileUnreadable
        /// The file could not be written; its former content is still there.
        case fileWriteFailed
        /// The file is larger than the caller allows.
        case tooLarge

        /// The code's name.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// The file, what is wrong with it, and what to do about it.
    public let message: String
    /// File errors have no error below them: the message contains the system's reason.
    public var cause: (any Error)? { nil }

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The file, what is wrong with it, and what to do about it; safe to log.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
