@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite("A performed request")
struct PerformedTests {
    private func performed(
        _ heads: LastValue<Performed.Head, HTTPURLResponse>, status: Int = 200, version: String = "HTTP/2",
        fields: HTTPFields = [.eTag: "1"], path: String = "shapes"
    ) throws -> Performed {
        let text = "https://api.example.com/\(path)"
        let response = TransportResponse(status: status, headerFields: fields, version: version, url: try TransportURL(text))
        return Performed(response: response, url: try #require(URL(string: text)), heads: heads)
    }

    @Test("responses with equal heads share one")
    func sharing() throws {
        let heads = LastValue<Performed.Head, HTTPURLResponse>()
        let first = try performed(heads).head()
        #expect(try performed(heads).head() === first)
    }

    @Test("a response that differs in status, version, any field or URL gets a head of its own")
    func differences() throws {
        let heads = LastValue<Performed.Head, HTTPURLResponse>()
        _ = try performed(heads).head()
        #expect(try performed(heads, status: 404).head().statusCode == 404)
        _ = try performed(heads).head()
        #expect(try performed(heads, fields: [.eTag: "2"]).head().value(forHTTPHeaderField: "ETag") == "2")
        _ = try performed(heads).head()
        #expect(try performed(heads, fields: [:]).head().value(forHTTPHeaderField: "ETag") == nil)
        _ = try performed(heads).head()
        #expect(try performed(heads, path: "other").head().url?.path() == "/other")
        let first = try performed(heads).head()
        #expect(try performed(heads, version: "HTTP/1.1").head() !== first)
    }

    @Test("a response with a cookie shares its head with no other")
    func cookies() throws {
        let heads = LastValue<Performed.Head, HTTPURLResponse>()
        let first = try performed(heads, fields: [.setCookie: "a=b"]).head()
        #expect(try performed(heads, fields: [.setCookie: "a=b"]).head() !== first)
    }

    @Test("repeated fields are joined in their order")
    func repeatedFields() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .vary, value: "a"))
        fields.append(HTTPField(name: .eTag, value: "1"))
        fields.append(HTTPField(name: .vary, value: "b"))
        #expect(try performed(LastValue(), fields: fields).head().value(forHTTPHeaderField: "Vary") == "a, b")
    }
}
