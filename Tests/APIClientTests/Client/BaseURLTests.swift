import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import Testing

// Acceptance list: S1.13, S1.14, S1.15
@Suite struct BaseURLTests {
    private func client(_ base: String = "https://api.example.com/v1") throws -> APIClient {
        try APIClient(base: try #require(URL(string: base)), session: try ApproovSession(service: nil))
    }

    @Test("A relative path goes below the base URL, with or without a slash at the beginning")
    func relative() throws {
        for base in ["https://api.example.com/v1", "https://api.example.com/v1/"] {
            let client = try client(base)
            for (path, url) in [
                ("items/7", "items/7"), ("/items/7", "items/7"), ("", ""), ("/", ""), ("items?x=%20&y=/../", "items?x=%20&y=/../"),
                ("?x=1", "?x=1"),
                ("@evil.example.com", "@evil.example.com"), ("items/a:b", "items/a:b"), ("items/a@b:c", "items/a@b:c"),
                ("items/...", "items/..."),
                ("items/a%2Fb", "items/a%2Fb"), (".well-known/x", ".well-known/x"), ("a//b", "a//b"),
            ] {
                #expect(try client.resource(path).url.absoluteString == "https://api.example.com/v1/" + url)
            }
        }
    }

    @Test(
        "A path that could lead out of the base URL is refused, without printing it",
        arguments: [
            "//evil.example.com/canary", "///canary", "https://evil.example.com/canary", "HTTPS:canary", "javascript:canary",
            "evil.example.com:80",
            "../canary", "items/../../canary", "items/..", "..", ".", "./items", "%2e%2e/canary", "%2E%2E/canary", ".%2e/canary",
            "items/%2E",
            "..%2fcanary", "items/%2e%2e%2Fcanary", "items/..;/..;/canary", "items/..%3Bx=1/canary", "items/.;", "..%5ccanary",
            "..\\canary", "\\\\evil.example.com\\canary", "/\\evil.example.com",
            "items#canary",
            "a b", "é", "a\r\nX-Canary: 1", "a\u{0}", "a<b", "a%", "a%zz", "user:pass@evil.example.com", "a@b:c", ":80@evil.example.com",
        ])
    func refused(path: String) throws {
        let client = try client()
        let text = message { try client.resource(path) }
        #expect(text.hasPrefix("invalidURL") && !text.contains("canary") && !text.contains("evil"), "\(text)")
    }

    @Test(
        "No path leads to another server, also below a base URL without a path",
        arguments: ["https://api.example.com", "https://api.example.com/", "https://api.example.com:8443"])
    func servers(base: String) async throws {
        let transport = InProcessTransport(status: 200)
        let session = try ApproovSession(service: nil, configuration: .over(transport))
        let client = try APIClient(base: try #require(URL(string: base)), session: session)
        let port = base.hasSuffix("8443") ? 8_443 : 443
        let origin = port == 443 ? "https://api.example.com" : base
        for (path, target) in [
            ("@evil.example.com", "/@evil.example.com"), (".evil.example.com", "/.evil.example.com"),
            ("/@evil.example.com", "/@evil.example.com"), ("/.evil.example.com", "/.evil.example.com"), ("8443", "/8443"),
            (":80@evil.example.com", nil), ("/:80@evil.example.com", "/:80@evil.example.com"), ("a@b:c", nil), ("/a@b:c", "/a@b:c"),
            ("//evil.example.com/x", nil), ("\\\\evil.example.com", nil), ("/\\evil.example.com", nil), ("\\evil.example.com", nil),
        ] as [(String, String?)] {
            guard let target else {
                #expect(code { try client.resource(path) } == .invalidURL, "\(path)")
                continue
            }
            let count = transport.requests.count
            let resource = try client.resource(path)
            #expect(resource.url.absoluteString == origin + target, "\(path)")
            _ = try await resource.send(.get)
            let sent = try #require(transport.requests.last)
            #expect(transport.requests.count == count + 1, "\(path)")
            #expect(sent.url.host.name == "api.example.com" && sent.url.port == port && sent.url.target == target, "\(path)")
        }
    }

    @Test(
        "A base URL that is not absolute, or has a query, a fragment, user information or dot segments, is refused",
        arguments: [
            "v1", "ftp://a.example/", "https://a.example/v1?x=1", "https://a.example/#x", "https://u@a.example/",
            "https://a.example/a/../b", "https://a.example/%2e%2e/b",
        ])
    func badBase(base: String) {
        #expect(code { try client(base) } == .invalidURL)
    }

    @Test("An absolute URL is used only by its name")
    func absolute() throws {
        let other = try #require(URL(string: "https://other.example.com/x"))
        #expect(try client().resource(absolute: other).url == other)
    }
}
