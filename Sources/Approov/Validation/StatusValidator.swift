public import Foundation
public import FoundationNetworking
import HTTPTypes

/// Accepts responses with certain statuses; see ``ResponseValidating/status(_:)``.
public struct StatusValidator: FieldValidating {
    private let accepted: Range<Int>

    /// Makes a validator.
    ///
    /// - Parameter accepted: The statuses of a success.
    public init(_ accepted: Range<Int> = 200..<300) {
        self.accepted = accepted
    }

    /// Checks the status.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: Not used.
    /// - Throws: ``ApproovError`` with code `responseRefused` for any other status.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        try validate(status: response.statusCode, body: body) { _ in nil }
    }

    func validate(status: Int, body: Data?, value: (HTTPField.Name) -> String?) throws {
        guard !accepted.contains(status) else { return }
        throw ApproovError.responseRefused(
            "its status is \(status), and the session accepts \(accepted.lowerBound) to \(accepted.upperBound - 1)")
    }
}
