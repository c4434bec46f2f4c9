import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// A response, and the request's URL as Foundation spells it.
struct Performed {
    /// All that a response's head for Foundation is made of.
    struct Head: Equatable, Sendable {
        let status: Int
        let version: String
        let fields: HTTPFields
        let url: URL
    }

    let response: TransportResponse
    let url: URL
    /// The last head that was made: Foundation takes longer to make one than the rest of a session's work takes together.
    let heads: LastValue<Head, HTTPURLResponse>

    /// The response's head as Foundation has it.
    ///
    /// - Throws: ``ApproovError`` `networkingError` when Foundation does not take it.
    func head() throws -> HTTPURLResponse {
        let head = Head(status: response.status, version: response.version, fields: response.headerFields, url: url)
        // A cookie is nobody's but its jar's.
        return try heads.value(for: head, isKept: { _ in !head.fields.scan(for: .setCookie) }, make: Self.represent)
    }

    private static func represent(_ head: Head) throws(ApproovError) -> HTTPURLResponse {
        var headers: [String: String] = [:]
        headers.reserveCapacity(head.fields.count)
        for field in head.fields {
            let name = field.name.rawName
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        guard let response = HTTPURLResponse(url: head.url, statusCode: head.status, httpVersion: head.version, headerFields: headers)
        else {
            throw ApproovError(
                .networkingError, "Foundation cannot represent the response's head: the server sent a malformed one; try again later")
        }
        return response
    }
}
