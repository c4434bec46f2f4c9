import Testing

@testable import ApproovCLI

@Suite struct SpellingTests {
    private static let verbs = [
        "api", "call", "demo", "keyset", "pin", "policy", "registration", "relay", "sdk", "secret", "serve", "token",
    ]

    @Test(
        "The nearest verb is found with one wrong letter in three, whatever the dashes and the case",
        arguments: [
            ("registraton", "registration"), ("regsitration", "registration"), ("Secret", "secret"), ("--token", "token"),
            ("sevre", "serve"),
            ("kyeset", "keyset"),
        ])
    func near(word: String, meant: String) {
        #expect(Spelling.nearest(to: word, in: Self.verbs) == meant)
    }

    @Test("A word that resembles no verb has no suggestion", arguments: ["", "x", "nonsense", "forcepass", "-"])
    func far(word: String) {
        #expect(Spelling.nearest(to: word, in: Self.verbs) == nil)
        #expect(Spelling.nearest(to: word, in: []) == nil)
    }
}
