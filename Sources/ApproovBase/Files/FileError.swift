internal import Foundation

/// Why a file that must be private to its user cannot be read or written.
public struct FileError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Others may read or write the file, it belongs to another user, or it is not a regular file.
        public static let fileUnsafe = Code("fileUnsafe")
        /// The system does not let this process read the file.
        public static let fileUnreadable = Code("fileUnreadable")
        /// The file could not be written; its former content is still there.
        public static let fileWriteFailed = Code("fileWriteFailed")
        /// The file is larger than the caller allows.
        public static let tooLarge = Code("tooLarge")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
