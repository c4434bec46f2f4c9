import APIClient
import Approov
import Foundation
import Testing

@Suite struct ResourceTests {
    private func resource(_ path: String = "items/7") throws -> Resource {
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        return try APIClient(base: base, session: try ApproovSession(service: nil)).resource(path)
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
