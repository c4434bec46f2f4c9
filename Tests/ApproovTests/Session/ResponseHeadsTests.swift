import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct ResponseHeadsTests {
    private func head(
        _ heads: ResponseHeads, status: Int = 200, version: String = "HTTP/2", fields: HTTPFields = [.eTag: "1"], path: String = "shapes"
    ) throws -> HTTPURLResponse {
        let text = "https://api.example.com/\(path)"
        let response = TransportResponse(status: status, headerFields: fields, version: version, url: try TransportURL(text))
        return try heads.head(of: response, to: try #require(URL(string: text)))
    }

    @Test("Responses with equal heads share one head")
    func sharing() throws {
        let heads = ResponseHeads()
        let first = try head(heads)
        #expect(try head(heads) === first)
    }

    @Test("A response with another status, version, field or URL gets its own head")
    func differences() throws {
        let heads = ResponseHeads()
        _ = try head(heads)
        #expect(try head(heads, status: 404).statusCode == 404)
        _ = try head(heads)
        #expect(try head(heads, fields: [.eTag: "2"]).value(forHTTPHeaderField: "ETag") == "2")
        _ = try head(heads)
        #expect(try head(heads, fields: [:]).value(forHTTPHeaderField: "ETag") == nil)
        _ = try head(heads)
        #expect(try head(heads, path: "other").url?.path() == "/other")
        let first = try head(heads)
        #expect(try head(heads, version: "HTTP/1.1") !== first)
    }

    @Test("A response with a cookie does not share its head")
    func cookies() throws {
        let heads = ResponseHeads()
        let first = try head(heads, fields: [.setCookie: "a=b"])
        #expect(try head(heads, fields: [.setCookie: "a=b"]) !== first)
    }

    @Test("Repeated fields are joined in their order")
    func repeatedFields() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .vary, value: "a"))
        fields.append(HTTPField(name: .eTag, value: "1"))
        fields.append(HTTPField(name: .vary, value: "b"))
        #expect(try head(ResponseHeads(), fields: fields).value(forHTTPHeaderField: "Vary") == "a, b")
    }

    @Test("Repeated fields are joined, also if their names differ in case: none hides another")
    func spellings() throws {
        let upper = try #require(HTTPField.Name("X-SUCCESS"))
        let lower = try #require(HTTPField.Name("x-success"))
        for _ in 0..<20 {
            let fields = HTTPFields([HTTPField(name: upper, value: "true"), HTTPField(name: lower, value: "false")])
            #expect(try head(ResponseHeads(), fields: fields).value(forHTTPHeaderField: "X-Success") == "true, false")
        }
    }
}
