@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// A response, with the request's URL as Foundation spells it.
struct Performed {
    /// The values from which Foundation's response head is made.
    struct Head: Equatable, Sendable {
        let status: Int
        let version: String
        let fields: HTTPFields
        let url: URL
    }

    let response: TransportResponse
    let url: URL
    /// The last head made.
    ///
    /// Foundation takes longer to make one than the session takes for all its other work on a request.
    let heads: LastValue<Head, HTTPURLResponse>

    /// Returns the response's head as an `HTTPURLResponse`.
    ///
    /// - Throws: ``ApproovError`` with code `networkingError` when Foundation cannot represent the head.
    func head() throws -> HTTPURLResponse {
        let head = Head(status: response.status, version: response.version, fields: response.headerFields, url: url)
        // Only the cookie storage may hold cookies, so do not cache a head that sets one.
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
