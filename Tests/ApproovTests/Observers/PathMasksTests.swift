import Testing

@testable import Approov

@Suite struct PathMasksTests {
    private func masked(_ path: String, _ rules: [String]) throws -> String { try PathMasks(rules).masked(path[...]) }

    @Test(
        "A rule hides its segments in every path that begins with it",
        arguments: [
            ("/reset/abc", "/reset/*"), ("/reset/abc/confirm", "/reset/*/confirm"), ("/reset", "/reset"), ("/reset/", "/reset/"),
            ("/users/7/files/a/b", "/users/*/files/*/*"), ("/users/7", "/users/*"), ("/Reset/abc", "/Reset/abc"), ("/", "/"),
            ("//reset//abc", "//reset//*"), ("/%72eset/abc", "/%72eset/*"), ("/x/reset/abc", "/x/reset/abc"),
            // Servers may read these as /reset/abc.
            ("/reset/%2Fabc", "/*/*"), ("/reset%2fabc", "/*"), ("/reset%5Cabc", "/*"), ("/x/../reset/abc", "/*/*/*/*"),
            ("/./reset/abc", "/*/*/*"), ("/x/%2e%2E/reset/abc", "/*/*/*/*"),
        ])
    func rules(_ path: String, _ expected: String) throws {
        #expect(try masked(path, ["/reset/*", "/users/*", "/users/*/files/**"]) == expected)
    }

    @Test("Without rules, a path that servers may read in two ways is shown")
    func noRules() throws {
        #expect(try masked("/x/../reset%2Fabc", []) == "/x/../reset%2Fabc")
    }

    @Test("Segments of more than 40 characters are hidden without a rule")
    func long() throws {
        let (short, long) = (String(repeating: "a", count: 40), String(repeating: "a", count: 41))
        #expect(try masked("/\(short)/\(long)/x", []) == "/\(short)/*/x")
    }

    @Test("All segments are hidden with a rule for all paths")
    func all() throws {
        #expect(try masked("/a/b//c", ["/**"]) == "/*/*//*")
    }

    @Test(
        "A rule that hides nothing, or that is malformed, is refused when the session is made",
        arguments: ["", "reset/*", "/reset", "/re*set/*", "/**/x", "/a/**/b/*", "/***"])
    func malformed(_ rule: String) {
        #expect(throws: ApproovError(.initializationError, "")) { try PathMasks([rule]) }
        var configuration = ApproovSessionConfiguration()
        configuration.maskedPaths = [rule]
        #expect(throws: ApproovError(.initializationError, "")) { try ApproovSession(service: nil, configuration: configuration) }
    }

    @Test("A path of many thousand segments is masked in one pass")
    func many() throws {
        let path = String(repeating: "/a", count: 30_000)
        #expect(try masked(path, ["/a/*", "/a/a/**"]).hasPrefix("/a/*/*/*"))
    }
}
