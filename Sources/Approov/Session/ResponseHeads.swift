@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Makes Foundation's heads of responses, and keeps the last one.
///
/// Foundation takes longer to make a head than the session takes for all its other work on a request.
final class ResponseHeads: Sendable {
    /// The values from which Foundation's response head is made.
    private struct Head: Equatable, Sendable {
        let status: Int
        let version: String
        let fields: HTTPFields
        let url: URL
    }

    private let last = LastValue<Head, HTTPURLResponse>()

    /// Returns a response's head as an `HTTPURLResponse`.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - url: The request's URL as its caller spelled it.
    /// - Returns: The head; equal heads in a row are one object.
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the head.
    func head(of response: TransportResponse, to url: URL) throws -> HTTPURLResponse {
        let head = Head(status: response.status, version: response.version, fields: response.headerFields, url: url)
        // Only the cookie storage may hold cookies, so do not keep a head that sets one.
        return try last.value(for: head, isKept: { _ in !head.fields.scan(for: .setCookie) }, make: Self.represent)
    }

    /// Returns the head of the response to a request.
    ///
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the head.
    func head(of sent: SentRequest) throws -> HTTPURLResponse { try sent.head { try head(of: sent.response, to: sent.askedFor) } }

    private static func represent(_ head: Head) throws(ApproovError) -> HTTPURLResponse {
        var headers: [String: String] = [:]
        headers.reserveCapacity(head.fields.count)
        // Of names that differ in case, Foundation keeps one, and which one is left to chance.
        var spellings: [String: String] = [:]
        for field in head.fields {
            let name = spellings[field.name.canonicalName] ?? field.name.rawName
            spellings[field.name.canonicalName] = name
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        guard let response = HTTPURLResponse(url: head.url, statusCode: head.status, httpVersion: head.version, headerFields: headers)
        else {
            throw ApproovError(
                .networkingError,
                "Foundation cannot represent the response's head, because the server sent a malformed one: report this to its operator",
                // The server has executed the request.
                isRetryable: false)
        }
        return response
    }
}
