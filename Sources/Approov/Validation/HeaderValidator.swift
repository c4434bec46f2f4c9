public import Foundation
public import FoundationNetworking

/// Refuses a response with a header field that says that the request failed; see ``ResponseValidating/headers(success:status:message:)``.
///
/// The values of a success are those of ``EnvelopeValidator``. A response without the field is accepted.
public struct HeaderValidator: ResponseValidating {
    private let success: String
    private let status: String?
    private let message: String?

    /// Makes a validator.
    ///
    /// - Parameters:
    ///   - success: The name of the field that says whether the request succeeded.
    ///   - status: The name of the field with the server's code for the failure; nil if there is none.
    ///   - message: The name of the field with the server's message about the failure; nil if there is none.
    public init(success: String, status: String? = nil, message: String? = nil) {
        self.success = success
        self.status = status
        self.message = message
    }

    /// Checks the field.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: Not used.
    /// - Throws: ``ApproovError`` with code `responseRefused` when the field says that the request failed.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        guard let value = response.value(forHTTPHeaderField: success), !ServerStatus.isSuccess(value) else { return }
        throw ApproovError.responseRefused(
            "its header says that the request failed; serverCode and serverMessage say what the server reports",
            serverCode: status.flatMap { response.value(forHTTPHeaderField: $0) },
            serverMessage: message.flatMap { response.value(forHTTPHeaderField: $0) })
    }
}
