import ApproovBase
public import Foundation
public import FoundationNetworking

/// A response that a validator refused.
///
/// Its description and the output of `dump` contain nothing that the server sent but the status.
public struct RefusedResponse: Sendable, CustomStringConvertible, CustomReflectable {
    /// The server's own code for the failure, in printable ASCII and at most 80 characters; nil if the validator found none.
    public let serverCode: String?
    /// The server's message about the failure; nil if the validator found none.
    ///
    /// Other characters than printable ASCII are escaped, and the text is cut after 256 characters. Do not log it: it may repeat what the
    /// request contained.
    public let serverMessage: String?
    /// The head; nil only in an error that no session has seen.
    public internal(set) var head: HTTPURLResponse?
    /// The body, at most 1 MiB; nil for a larger one, and for one that the caller reads part by part.
    public internal(set) var body: Data?

    init(serverCode: String?, serverMessage: String?) {
        self.serverCode = serverCode.map { LoggableText.quoted($0, limit: 80) }
        self.serverMessage = serverMessage.map { LoggableText.quoted($0, limit: 256) }
    }

    /// The status.
    public var description: String { "a refused response" + (head.map { " with status \($0.statusCode)" } ?? "") }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ApproovError {
    /// Makes the error with which a validator refuses a response.
    ///
    /// - Parameters:
    ///   - reason: Why, such as "its status is 500"; must be safe to log.
    ///   - serverCode: The server's own code for the failure.
    ///   - serverMessage: The server's message about the failure.
    ///   - cause: The underlying error; its description must be safe to log.
    /// - Returns: An error with code `responseRefused`. The session adds the response.
    public static func responseRefused(
        _ reason: String, serverCode: String? = nil, serverMessage: String? = nil, cause: (any Error)? = nil
    ) -> ApproovError {
        var error = ApproovError(.responseRefused, "the response was refused: \(reason)", cause: cause)
        error.refusedResponse = RefusedResponse(serverCode: serverCode, serverMessage: serverMessage)
        return error
    }

    /// The server's own code for the failure, in an error with code `responseRefused`; see ``RefusedResponse/serverCode``.
    public var serverCode: String? { refusedResponse?.serverCode }

    /// The server's message about the failure, in an error with code `responseRefused`; see ``RefusedResponse/serverMessage``.
    public var serverMessage: String? { refusedResponse?.serverMessage }
}

extension RequestOutcome {
    /// The head of the response, even of one that a validator refused; nil if no response arrived.
    public var head: HTTPURLResponse? {
        switch self {
        case .response(let head): head
        case .failure(let error): (error as? ApproovError)?.refusedResponse?.head
        }
    }
}
