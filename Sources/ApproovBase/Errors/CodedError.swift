public import Foundation

/// The common shape of this package's errors: a stable code, a message that contains the remedy, and the underlying error.
///
/// Two errors of one type are equal when their codes are. No part of an error contains a token, a secret, a header value or a body.
public protocol CodedError: LocalizedError, Equatable, CustomStringConvertible {
    /// A stable, comparable name for the kind of failure.
    associatedtype Code: ErrorCode

    /// Code, message and cause.
    var details: ErrorDetails<Code> { get }

    /// Makes an error.
    ///
    /// - Parameter details: Code, message and cause.
    init(_ details: ErrorDetails<Code>)
}

extension CodedError {
    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: The problem and its remedy; it must be safe to log.
    ///   - cause: The underlying error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.init(ErrorDetails(code, message, cause: cause))
    }

    /// The kind of failure.
    public var code: Code { details.code }

    /// The problem and its remedy; safe to log.
    public var message: String { details.message }

    /// The underlying error, if there is one.
    public var cause: (any Error)? { details.cause }

    /// Code, message and cause on one line.
    public var description: String { "\(code): \(message)" + (cause.map { " (\($0))" } ?? "") }

    /// The same as the description, so that `localizedDescription` is useful.
    public var errorDescription: String? { description }

    /// Compares the codes only.
    ///
    /// - Parameters:
    ///   - left: An error.
    ///   - right: Another error of the same type.
    /// - Returns: True when their codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}
