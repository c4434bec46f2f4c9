import Testing

@testable import ApproovCLI

@Suite struct SpellingTests {
    private static let verbs = [
        "api", "call", "demo", "keyset", "pin", "policy", "registration", "relay", "sdk", "secret", "serve", "token",
    ]

    @Test(
        "one letter in three may be wrong, the dashes and the case do not count",
        arguments: [
            ("registraton", "registration"), ("regsitration", "registration"), ("Secret", "secret"), ("--token", "token"),
            ("sevre", "serve"),
            ("kyeset", "keyset"),
        ])
    func near(word: String, meant: String) {
        #expect(Spelling.nearest(to: word, in: Self.verbs) == meant)
    }

    @Test("a word that is like none of them has no suggestion", arguments: ["", "x", "nonsense", "forcepass", "-"])
    func far(word: String) {
        #expect(Spelling.nearest(to: word, in: Self.verbs) == nil)
        #expect(Spelling.nearest(to: word, in: []) == nil)
    }
}
