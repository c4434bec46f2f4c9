import Foundation
import HTTPClient
import Testing

@Suite struct TransportURLTests {
    @Test(
        "Different spellings of a URL have the same canonical form",
        arguments: [
            "https://api.test/x?q", "HTTPS://API.test./x?q", "https://api.test:443/x?q#fragment", "https://Api.Test:/x?q",
        ])
    func canonical(text: String) throws {
        let url = try TransportURL(text)
        #expect(url.text == "https://api.test/x?q")
        #expect(url.origin == "https://api.test:443")
        #expect(url.target == "/x?q")
    }

    @Test("The URL gets a missing path, keeps an IPv6 literal, and is resolved against its base")
    func completed() throws {
        #expect(try TransportURL("https://a.test").target == "/")
        #expect(try TransportURL("https://a.test?x").target == "/?x")
        #expect(try TransportURL("http://[::1]:8080/").text == "http://[::1]:8080/")
        #expect(try TransportURL(#require(URL(string: "/b", relativeTo: URL(string: "https://a.test/a")))).text == "https://a.test/b")
    }

    @Test(
        "A URL that is malformed, ambiguous, too long or not HTTP is refused",
        arguments: [
            "", "https://", "ftp://a.test/", "//a.test/", "https:/a.test", "https://user@a.test/", "https://user:p@a.test/",
            "https://other@good.test/", "https://a.test\\@b.test/", "https://a%2Etest/", "https://g%6Fod.test/", "https://a.test:0/",
            "https://a.test:65536/", "https://a.test:4a/", "https://a.test:-1/", "https://a b.test/", "https://a.test/\u{0}",
            "https://a.test/\r\nX: y", "https://bücher.test/", "https://2130706433/", "https://0x7f.1/", "https://[::1/", "https://[::1]x/",
            "https://a..test/", "https://a.test../", "https://:443/", "https://a.test/" + String(repeating: "a", count: 70_000),
        ])
    func refused(text: String) {
        #expect { try TransportURL(text) } throws: { ($0 as? TransportError)?.code == .invalidURL }
    }
}
