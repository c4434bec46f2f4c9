import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@Suite struct ResourceTests {
    private func resource(_ path: String = "items/7") throws -> Resource {
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        return try APIClient(base: base, session: try ApproovSession(service: nil)).resource(path)
    }

    @Test("A rule that looks at the query decides about the statuses of a request whose query is a parameter")
    func statusesByQuery() async throws {
        let transport = InProcessTransport(status: 404, headerFields: [.contentType: "application/json"], body: Array("[]".utf8))
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        let client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport))).configured {
            try $0.configure(description: "searches", where: { $0.query() != nil }) { $0.statuses = 404..<405 }
        }
        let resource = try client.resource("items")
        #expect(try await resource.send(.get, query: ["q": "x"]).head.statusCode == 404)
        #expect(try await resource.cachedData(query: ["q": "x"]).head.statusCode == 404)
        #expect(try await client.get("items", query: ["q": "x"], as: [Int].self) == [])
        #expect(await failure { try await resource.send(.get) }?.code == .unexpectedStatus)
        #expect(await failure { try await resource.cachedData() }?.code == .unexpectedStatus)
        #expect(await failure { try await client.get("items", as: [Int].self) }?.code == .unexpectedStatus)
    }

    @Test("A child is one segment, whatever its text")
    func children() throws {
        for (segment, encoded) in [
            ("8", "8"), ("a/b", "a%2Fb"), ("../x", "..%2Fx"), ("?x=1", "%3Fx%3D1"), ("#", "%23"), ("é \r\n", "%C3%A9%20%0D%0A"),
            ("%2e", "%252e"),
            ("a+b", "a%2Bb"), ("@evil:80", "%40evil%3A80"), ("...", "..."),
        ] {
            #expect(try resource("items?x=1").child(segment).url.absoluteString == "https://api.example.com/v1/items/" + encoded)
        }
        for segment in ["", ".", ".."] { #expect(code { try resource().child(segment) } == .invalidURL) }
    }

    @Test("A reference is resolved against the resource, within the base URL")
    func references() throws {
        for (reference, url) in [
            ("8", "items/8"), ("./8", "items/8"), ("../other", "other"), ("/v1/other", "other"), ("?page=2", "items/7?page=2"),
            ("https://api.example.com/v1/other", "other"), ("//api.example.com/v1/other", "other"), ("", "items/7"),
        ] {
            #expect(try resource().relative(reference).url.absoluteString == "https://api.example.com/v1/" + url, "\(reference)")
        }
    }

    @Test(
        "A reference that leads to another server or out of the base URL is refused",
        arguments: [
            "//evil.example.com/v1/items", "https://evil.example.com/v1/", "http://api.example.com/v1/items",
            "https://api.example.com:8443/v1/",
            "../../admin", "/admin", "/", "/v10/items", "%2e%2e/%2e%2e/admin", "..%2f..%2fadmin",
            "https://api.example.com@evil.example.com/v1/",
            "https://api.example.com.evil.example.com/v1/", "file:///etc/passwd",
        ])
    func escapes(reference: String) {
        #expect(code { try resource().relative(reference) } == .invalidURL)
    }
}
