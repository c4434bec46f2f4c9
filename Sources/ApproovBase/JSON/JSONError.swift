internal import Foundation

/// Why bytes are not the expected JSON.
///
/// The message names the position and never quotes the input.
public struct JSONError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The bytes are not strict JSON (RFC 8259): repeated members, trailing data, NUL, bad UTF-8 or nesting beyond 32.
        case malformedJSON
        /// There are more bytes than the caller allows.
        case tooLarge

        /// The code's name.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// What is wrong and what to do about it.
    public let message: String
    /// Always nil: JSON errors have no underlying error.
    public var cause: (any Error)? { nil }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
