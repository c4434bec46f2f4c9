import APIClient
import Foundation
import FoundationNetworking
import Testing

extension APIResponse {
    /// A response without a server.
    init(_ text: String, type: String? = "application/json", status: Int = 200) throws {
        let head = HTTPURLResponse(
            url: try #require(URL(string: "https://api.example.com/items")), statusCode: status, httpVersion: "HTTP/1.1",
            headerFields: type.map { ["Content-Type": $0] })
        self.init(data: Data(text.utf8), head: try #require(head))
    }
}

/// The `APIError` that the work throws; nil if it throws none.
func failure<T>(_ work: () async throws -> T) async -> APIError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error as? APIError
    }
}
