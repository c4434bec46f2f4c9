public import Foundation
public import FoundationNetworking

/// Decides whether a response is a success.
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.validators = [.status(200..<300), .mediaType("application/json"), EnvelopeValidator()]
/// ```
///
/// A session calls its validators in order, after redirects and before the interceptors decide about a retry. If a validator refuses a
/// response, the interceptors and the caller get an ``ApproovError`` with code `responseRefused` in its place.
/// ``ApproovError/refusedResponse`` contains the response.
public protocol ResponseValidating: Sendable {
    /// Returns if the response is a success.
    ///
    /// Must not block, and must not keep or log what it sees.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: The body, at most 1 MiB; nil for a larger one, and for one that the caller reads part by part, as with `bytes(for:)` and
    ///     `download(for:)`.
    /// - Throws: An error that refuses the response, such as ``ApproovError/responseRefused(_:serverCode:serverMessage:cause:)``. Its
    ///   description must not contain what the server sent.
    func validate(_ response: HTTPURLResponse, body: Data?) throws
}

extension ResponseValidating where Self == StatusValidator {
    /// Accepts responses with certain statuses.
    ///
    /// - Parameter accepted: The statuses of a success, such as `200..<300`.
    /// - Returns: The validator.
    public static func status(_ accepted: Range<Int>) -> StatusValidator { StatusValidator(accepted) }
}

extension ResponseValidating where Self == MediaTypeValidator {
    /// Accepts responses whose content has certain media types.
    ///
    /// - Parameter accepted: The types, such as "application/json" or "image/*", without parameters.
    /// - Returns: The validator.
    public static func mediaType(_ accepted: String...) -> MediaTypeValidator { MediaTypeValidator(accepted) }
}

extension ResponseValidating where Self == HeaderValidator {
    /// Accepts responses unless a header field says that the request failed.
    ///
    /// - Parameters:
    ///   - success: The name of the field that says whether the request succeeded.
    ///   - status: The name of the field with the server's code for the failure; nil if there is none.
    ///   - message: The name of the field with the server's message about the failure; nil if there is none.
    /// - Returns: The validator.
    public static func headers(success: String, status: String? = nil, message: String? = nil) -> HeaderValidator {
        HeaderValidator(success: success, status: status, message: message)
    }
}
