import APIClient
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

// Acceptance list: S2.10, S2.41, S2.42, S2.51
@Suite struct RequestBuilderTests {
    private func builder(_ url: String = "https://api.example.com/items", _ method: HTTPRequest.Method = .get) throws -> RequestBuilder {
        RequestBuilder(url: try #require(URL(string: url)), method: method)
    }

    @Test("A request has its method, headers, timeout, and the headers of its body")
    func whole() throws {
        var builder = try builder("https://api.example.com/items#part", .patch)
        builder.headers["X-Request"] = "7"
        builder.timeout = .milliseconds(1_500)
        builder.body = try JSONBody(["a": 1])
        let (request, body) = try builder.build()
        #expect(request.httpMethod == "PATCH" && request.timeoutInterval == 1.5 && request.httpBody == nil)
        #expect(request.url?.absoluteString == "https://api.example.com/items")
        #expect(request.allHTTPHeaderFields == ["X-Request": "7", "Content-Type": "application/json"])
        #expect(body.text == #"{"a":1}"#)
    }

    @Test("The query follows that of the URL, and percentEncodedQuery replaces both")
    func queries() throws {
        var builder = try builder("https://api.example.com/items?x=%201")
        builder.query = ["y": 2]
        #expect(try builder.build().request.url?.absoluteString == "https://api.example.com/items?x=%201&y=2")
        builder.query = [:]
        #expect(try builder.build().request.url?.absoluteString == "https://api.example.com/items?x=%201")
        builder.url = try #require(URL(string: "https://api.example.com/items?q=what?"))
        builder.query = ["y": 2]
        #expect(try builder.build().request.url?.absoluteString == "https://api.example.com/items?q=what?&y=2")
        for begun in ["?", "?a&"] {
            builder.url = try #require(URL(string: "https://api.example.com/items" + begun))
            #expect(try builder.build().request.url?.absoluteString == "https://api.example.com/items\(begun)y=2")
        }
        builder.percentEncodedQuery = "z=%5B&+"
        #expect(try builder.build().request.url?.absoluteString == "https://api.example.com/items?z=%5B&+")
    }

    @Test("A percent-encoded query that is not one is refused", arguments: ["a=b c", "a=%4", "a=%zz", "#a", "a=\r\nX: y", "é", "[", "%"])
    func badQuery(_ query: String) throws {
        var builder = try builder()
        builder.percentEncodedQuery = query
        #expect(code { try builder.build() } == .invalidQuery)
    }

    @Test("GET, HEAD and TRACE have no body; the other methods may have one", arguments: [HTTPRequest.Method.get, .head, .trace])
    func bodies(_ method: HTTPRequest.Method) throws {
        var builder = try builder("https://api.example.com/", method)
        builder.body = FormBody(["a": "b"])
        #expect(message { try builder.build() }.hasPrefix("invalidBody: a \(method) request has no body"))
        builder.method = .delete
        #expect(try builder.build().body.text == "a=b")
    }

    @Test(
        "A malformed header, one in two spellings, or one of the body is refused without its value",
        arguments: [
            ["X-A": "canary\r\nX-B: 1"], ["X A": "canary"], ["": "canary"], ["X-A": "canary", "x-a": "canary"],
            ["Content-Type": "canary"], ["content-type": "canary"], ["X-A": "canary\u{0}"],
        ])
    func headers(_ headers: [String: String]) throws {
        var builder = try builder("https://api.example.com/", .post)
        builder.body = FormBody(["a": "b"])
        builder.headers = headers
        let text = message { try builder.build() }
        #expect(text.hasPrefix("invalidHeader") && !text.contains("canary"), "\(text)")
    }

    @Test(
        "A URL that cannot be requested is refused",
        arguments: ["items", "ftp://a.example/", "https://user:pass@a.example/", "//a.example/"])
    func badURL(_ url: String) throws {
        let builder = try builder(url)
        #expect(code { try builder.build() } == .invalidURL)
    }

    @Test("A timeout that is not positive is refused")
    func timeout() throws {
        var builder = try builder()
        builder.timeout = .zero
        #expect(code { try builder.build() } == .invalidHeader)
    }
}
