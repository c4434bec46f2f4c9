import MessageSignatures
import Testing

@Suite struct TargetURITests {
    @Test("The text is kept, and its parts are neither decoded nor re-encoded")
    func parts() throws {
        let uri = try TargetURI("HTTPS://API.Example.com:8443/a%2Fb/../c//d;e?x=%20&x=&&?/=y")
        #expect(uri.text == "HTTPS://API.Example.com:8443/a%2Fb/../c//d;e?x=%20&x=&&?/=y")
        #expect(uri.scheme == "https")
        #expect(uri.authority == "api.example.com:8443")
        #expect(uri.path == "/a%2Fb/../c//d;e")
        #expect(uri.query == "x=%20&x=&&?/=y")
        #expect(uri.pathAndQuery == "/a%2Fb/../c//d;e?x=%20&x=&&?/=y")
    }

    @Test("An empty path is a slash, and an empty query is not a missing one")
    func empty() throws {
        let bare = try TargetURI("http://example.com")
        #expect(bare.path == "/" && bare.query == nil && bare.pathAndQuery == "/" && bare.scheme == "http")
        let query = try TargetURI("https://example.com?")
        #expect(query.path == "/" && query.query == "" && query.pathAndQuery == "/?")
        #expect(try TargetURI("https://example.com/?").query == "")
        #expect(try TargetURI("https://example.com/@a\\b?@").path == "/@a\\b")
    }

    @Test("The authority loses upper case and the default port, and keeps every other port")
    func authority() throws {
        #expect(try TargetURI("https://Example.com:443/").authority == "example.com")
        #expect(try TargetURI("http://example.com:80").authority == "example.com")
        #expect(try TargetURI("https://example.com:80/").authority == "example.com:80")
        #expect(try TargetURI("https://[::1]:8443/").authority == "[::1]:8443")
        #expect(try TargetURI("https://[::1]/").authority == "[::1]")
        #expect(try TargetURI("https://example.com:/").authority == "example.com")
    }

    @Test("A URI is assembled from what a request carries")
    func assembled() throws {
        #expect(try TargetURI(scheme: "HTTPS", authority: "Example.com:443", path: "/a?b").text == "https://example.com/a?b")
        #expect(try TargetURI(scheme: "http", authority: "example.com", path: "").text == "http://example.com/")
        #expect(try TargetURI(scheme: "http", authority: "example.com", path: "?a").text == "http://example.com/?a")
        #expect(try TargetURI(scheme: "https", authority: "example.com", path: "*").text == "https://example.com")
        #expect(code { _ = try TargetURI(scheme: "https", authority: "example.com", path: "a") } == .invalidMessage)
        #expect(code { _ = try TargetURI(scheme: "https", authority: "a@example.com", path: "/") } == .invalidMessage)
        #expect(code { _ = try TargetURI(scheme: "https", authority: "", path: "/a") } == .invalidMessage)
        #expect(try TargetURI(scheme: "https", authority: "[::1]:8443", path: "/a").text == "https://[::1]:8443/a")
    }

    @Test("The scheme takes no part of the URL", arguments: ["https://example.com/proxy?url=https", "ftp", "", "https:"])
    func scheme(text: String) {
        #expect(code { _ = try TargetURI(scheme: text, authority: "other.example.com", path: "/admin") } == .invalidMessage)
    }

    @Test(
        "The authority takes no part of the path or the query",
        arguments: ["example.com/search?q=", "example.com/v1", "example.com?", "example.com#", "example.com\\", "a b", "example.com<", ""])
    func authority(text: String) {
        #expect(code { _ = try TargetURI(scheme: "https", authority: text, path: "/admin") } == .invalidMessage)
    }

    @Test(
        "Text that is no absolute http URI in visible ASCII, or has user information or a fragment, is refused",
        arguments: [
            "", "/a", "example.com", "https:", "https://", "https:///a", "https://?a", "ftp://example.com/", "httpsx://example.com/",
            "https:/example.com", "https://:443/", "https://user@example.com/", "https://user:secret@example.com/", "https://a\\@b.com/",
            "https://example.com/#a", "https://example.com/a b", "https://example.com/\n", "https://example.com/é", "https://exämple.com/",
            "https://example.com/\u{7F}", " https://example.com/",
        ])
    func bad(text: String) {
        #expect(code { _ = try TargetURI(text) } == .invalidMessage)
    }
}
