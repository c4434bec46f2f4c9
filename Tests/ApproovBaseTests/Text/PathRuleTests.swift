import ApproovBase
import Testing

@Suite struct PathRuleTests {
    @Test(
        "A rule begins with a slash and hides one segment or all that follow", arguments: ["", "/", "/a", "a/*", "/a*", "/**/b", "/*/**/*"])
    func flawed(text: String) { #expect(PathRule(text) == nil) }

    @Test("A rule hides its segments in the paths that begin with it, which are compared decoded")
    func hidden() throws {
        let one = try #require(PathRule("/users/*/keys/*"))
        #expect(one.hidden(in: ["users", "7", "keys", "k", "more"]) == [1, 3] && one.hidden(in: ["users", "7", "keys"]).isEmpty)
        let rest = try #require(PathRule("/f%69les/**"))
        #expect(rest.hidden(in: ["files", "a", "b"]) == [1, 2] && rest.hidden(in: ["other", "a"]).isEmpty)
    }
}
