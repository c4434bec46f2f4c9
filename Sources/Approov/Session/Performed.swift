import Foundation
import FoundationNetworking
import HTTPTransport
import HTTPTypes
import Synchronization

/// A response, and the request's URL as Foundation spells it.
struct Performed {
    let response: TransportResponse
    let url: URL
    let recent: RecentHead

    /// The response's head as Foundation has it.
    ///
    /// - Throws: ``ApproovError`` `networkingError` when Foundation does not take it.
    func head() throws -> HTTPURLResponse {
        if let head = recent.head(of: self) { return head }
        var headers: [String: String] = [:]
        headers.reserveCapacity(response.headerFields.count)
        for field in response.headerFields {
            let name = field.name.rawName
            headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
        }
        guard
            let head = HTTPURLResponse(url: url, statusCode: response.status, httpVersion: response.version, headerFields: headers)
        else {
            throw ApproovError(
                .networkingError, "Foundation cannot represent the response's head: the server sent a malformed one; try again later")
        }
        recent.keep(head, of: self)
        return head
    }
}

/// The last head that was made for Foundation.
///
/// Foundation takes longer to make a head than the rest of a session's work takes together, and where many requests go to one resource
/// their heads are the same for a second at a time. A head never changes, so equal responses can share one.
final class RecentHead: Sendable {
    private struct Entry {
        let url: URL
        let status: Int
        let version: String
        let fields: HTTPFields
        let head: HTTPURLResponse
    }

    private let entry = Mutex<Entry?>(nil)

    /// The head, when the response is like the last one.
    func head(of performed: Performed) -> HTTPURLResponse? {
        guard let entry = entry.withLock({ $0 }) else { return nil }
        let response = performed.response
        guard entry.status == response.status, entry.version == response.version, entry.fields == response.headerFields,
            entry.url == performed.url
        else { return nil }
        return entry.head
    }

    /// Keeps a head.
    func keep(_ head: HTTPURLResponse, of performed: Performed) {
        let response = performed.response
        // A cookie is nobody's but its jar's.
        guard !response.headerFields.scan(for: .setCookie) else { return }
        let entry = Entry(
            url: performed.url, status: response.status, version: response.version, fields: response.headerFields, head: head)
        self.entry.withLock { $0 = entry }
    }
}
