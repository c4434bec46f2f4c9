import HTTPTypes
import Hummingbird
import MessageSignatures
import NIOCore
import Testing

@testable import ApproovTokenCheck

@Suite struct SignatureTargetTests {
    private func target(_ publicURL: String?, path: String?, authority: String? = "API.example.com:443") throws -> String {
        let head = HTTPRequest(method: .get, scheme: "http", authority: authority, path: path)
        return try SignatureTarget(publicURL: publicURL).request(Request(head: head, body: .init(buffer: ByteBuffer()))).target.text
    }

    @Test("Without a public URL the scheme is https, and the host is the request's own")
    func own() throws {
        #expect(try target(nil, path: "/a%2F?b=%20&&") == "https://api.example.com/a%2F?b=%20&&")
        #expect(try target(nil, path: "/", authority: "127.0.0.1:8443") == "https://127.0.0.1:8443/")
    }

    @Test("With a public URL, scheme, host, port and prefix are those of the URL")
    func publicURL() throws {
        #expect(try target("http://127.0.0.1:8080", path: "/a") == "http://127.0.0.1:8080/a")
        #expect(try target("https://Example.com:443/", path: "/a?b") == "https://example.com/a?b")
        #expect(try target("https://example.com/v1", path: "/a") == "https://example.com/v1/a")
        #expect(try target("https://example.com/v1/", path: "/", authority: nil) == "https://example.com/v1/")
    }

    @Test("A request whose target is no path of this server is refused")
    func bad() throws {
        for path in [nil, "", "*", "a", "http://other.example.com/", "?a", "/a b", "/a#b", "/é"] {
            #expect(throws: MessageSignatureError(.invalidMessage, "")) { try target("https://example.com", path: path) }
        }
        // The Kelvin sign has the ASCII letter k as its lower case.
        for authority in [nil, "", "a@b", "a.example.com/search?q=", "a.example.com/v1", "a.example.com?", "bac\u{212A}end.example.com"] {
            #expect(throws: MessageSignatureError(.invalidMessage, "")) { try target(nil, path: "/", authority: authority) }
        }
    }
}
