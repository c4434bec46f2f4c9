import ApproovBase
public import Foundation
public import FoundationNetworking

/// Refuses a response whose JSON says that the request failed, whatever the HTTP status is.
///
/// It looks at the members of the outermost object:
///
/// ```json
/// { "status": false, "code": 500, "message": "The item is sold out." }
/// ```
///
/// The status may be a Bool, a whole number or a string. Success is `true`, 1, a number from 200 to 299, and the strings "true", "ok" and
/// "success" in any case; anything else is a failure. A response without a status is accepted, and so is one that has no JSON (its
/// Content-Type names another type), no content, or more than 1 MiB. JSON that is malformed, nested deeper than 32 levels, or names a member
/// twice is refused.
public struct EnvelopeValidator: ResponseValidating {
    private let statusField: String
    private let codeField: String
    private let messageField: String

    /// Makes a validator.
    ///
    /// - Parameters:
    ///   - statusField: The member that says whether the request succeeded.
    ///   - codeField: The member with the server's code for the failure, a string or a whole number.
    ///   - messageField: The member with the server's message about the failure.
    public init(statusField: String = "status", codeField: String = "code", messageField: String = "message") {
        self.statusField = statusField
        self.codeField = codeField
        self.messageField = messageField
    }

    /// Checks the envelope.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: The body, if it is in memory.
    /// - Throws: ``ApproovError`` with code `responseRefused` when the envelope says that the request failed, or cannot be read.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        guard let body, !body.isEmpty, Self.isJSON(response) else { return }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: [UInt8](body), limit: ValidationStation.bodyLimit)
        } catch {
            throw ApproovError.responseRefused("its JSON cannot be read", cause: error)
        }
        guard case .object(let members) = value, let status = members[statusField], !Self.isSuccess(status) else { return }
        throw ApproovError.responseRefused(
            "the status in its JSON says that the request failed; serverCode and serverMessage say what the server reports",
            serverCode: Self.text(members[codeField]), serverMessage: Self.text(members[messageField]))
    }

    private static func isJSON(_ response: HTTPURLResponse) -> Bool {
        guard let type = response.value(forHTTPHeaderField: "Content-Type").flatMap(MediaTypeValidator.name(inContentType:)) else {
            return true
        }
        return type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    }

    private static func isSuccess(_ status: JSONValue) -> Bool {
        switch status {
        case .null: true
        case .bool(let isSuccess): isSuccess
        case .integer(let number): ServerStatus.isSuccess(number)
        case .string(let text): ServerStatus.isSuccess(text)
        case .real, .array, .object: false
        }
    }

    private static func text(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        default: nil
        }
    }
}
