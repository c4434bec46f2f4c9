import Attestation
import Testing

@Suite struct AccountNameTests {
    @Test("An account name has 1 to 128 visible ASCII characters")
    func rule() {
        for name in ["a", "~", "!", String(repeating: "x", count: 128)] { #expect(AccountName.isValid(name)) }
        for name in ["", " ", "a b", "a\n", "\u{7f}", "é", String(repeating: "x", count: 129)] { #expect(!AccountName.isValid(name)) }
    }
}
