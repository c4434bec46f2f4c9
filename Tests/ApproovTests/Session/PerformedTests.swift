import Foundation
import FoundationNetworking
import HTTPTransport
import HTTPTypes
import Testing

@testable import Approov

@Suite("A performed request")
struct PerformedTests {
    private func performed(
        _ recent: RecentHead, status: Int = 200, version: String = "HTTP/2", fields: HTTPFields = [.eTag: "1"], path: String = "shapes"
    ) throws -> Performed {
        let text = "https://api.example.com/\(path)"
        let response = TransportResponse(status: status, headerFields: fields, version: version, url: try TransportURL(text))
        return Performed(response: response, url: try #require(URL(string: text)), recent: recent)
    }

    @Test("responses with equal heads share one")
    func sharing() throws {
        let recent = RecentHead()
        let first = try performed(recent).head()
        #expect(try performed(recent).head() === first)
    }

    @Test("a response that differs in status, version, any field or URL gets a head of its own")
    func differences() throws {
        let recent = RecentHead()
        _ = try performed(recent).head()
        #expect(try performed(recent, status: 404).head().statusCode == 404)
        _ = try performed(recent).head()
        #expect(try performed(recent, fields: [.eTag: "2"]).head().value(forHTTPHeaderField: "ETag") == "2")
        _ = try performed(recent).head()
        #expect(try performed(recent, fields: [:]).head().value(forHTTPHeaderField: "ETag") == nil)
        _ = try performed(recent).head()
        #expect(try performed(recent, path: "other").head().url?.path() == "/other")
        let first = try performed(recent).head()
        #expect(try performed(recent, version: "HTTP/1.1").head() !== first)
    }

    @Test("repeated fields are joined in their order")
    func repeatedFields() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .vary, value: "a"))
        fields.append(HTTPField(name: .eTag, value: "1"))
        fields.append(HTTPField(name: .vary, value: "b"))
        #expect(try performed(RecentHead(), fields: fields).head().value(forHTTPHeaderField: "Vary") == "a, b")
    }
}
