public import Foundation

/// The common shape of this package's errors: a stable code, a message that contains the remedy, and the underlying error.
///
/// Two errors of one type are equal when their codes are. No part of an error contains a token, a secret, a header value or a body.
public protocol CodedError: LocalizedError, Equatable, CustomStringConvertible {
    /// A stable, comparable name for the kind of failure.
    associatedtype Code: Hashable, Sendable, CustomStringConvertible

    /// The kind of failure.
    var code: Code { get }
    /// What is wrong and what to do about it; safe to log.
    var message: String { get }
    /// The underlying error, if there is one.
    var cause: (any Error)? { get }
}

extension CodedError {
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
