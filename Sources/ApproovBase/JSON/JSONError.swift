internal import Foundation

/// Why bytes are not the expected JSON.
///
/// The message names the position and never quotes the input.
public struct JSONError: CodedError {
    /// A stable, comparable name for the kind of failure.
    public struct Code: ErrorCode {
        /// The code's name, as it appears in logs.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes are not strict JSON (RFC 8259): repeated members, trailing data, NUL, bad UTF-8 or nesting beyond 32.
        public static let malformedJSON = Code("malformedJSON")
        /// There are more bytes than the caller allows.
        public static let tooLarge = Code("tooLarge")
    }

    /// Code, message and cause.
    public let details: ErrorDetails<Code>

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    public init(_ details: ErrorDetails<Code>) { self.details = details }
}
