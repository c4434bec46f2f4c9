public import Foundation
public import FoundationNetworking
import HTTPTypes

/// Refuses a response with a header field that says that the request failed; see ``ResponseValidating/headers(success:status:message:)``.
///
/// The values of a success are those of ``EnvelopeValidator``. A response without the field is accepted.
public struct HeaderValidator: FieldValidating {
    // Nil for a malformed name, which no field has.
    private let success: HTTPField.Name?
    private let status: HTTPField.Name?
    private let message: HTTPField.Name?

    /// Makes a validator.
    ///
    /// - Parameters:
    ///   - success: The name of the field that says whether the request succeeded.
    ///   - status: The name of the field with the server's code for the failure; nil if there is none.
    ///   - message: The name of the field with the server's message about the failure; nil if there is none.
    public init(success: String, status: String? = nil, message: String? = nil) {
        self.success = HTTPField.Name(success)
        self.status = status.flatMap { HTTPField.Name($0) }
        self.message = message.flatMap { HTTPField.Name($0) }
    }

    /// Checks the field.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: Not used.
    /// - Throws: ``ApproovError`` with code `responseRefused` when the field says that the request failed.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        try validate(status: response.statusCode, body: body) { response.value(forHTTPHeaderField: $0.rawName) }
    }

    func validate(status code: Int, body: Data?, value: (HTTPField.Name) -> String?) throws {
        guard let success = success.flatMap(value), !ServerStatus.isSuccess(success) else { return }
        throw ApproovError.responseRefused(
            "its header says that the request failed; serverCode and serverMessage say what the server reports",
            serverCode: status.flatMap(value), serverMessage: message.flatMap(value))
    }
}
