import Attestation
import Testing

@Suite struct KeyIdentifierTests {
    @Test(
        "An identifier of letters, digits, dots, dashes and underscores is allowed for a new key, and readable",
        arguments: [
            "k", "2026-11.key_A", String(repeating: "k", count: 64),
        ])
    func plain(name: String) {
        #expect(KeyIdentifier.isAllowedForNewKey(name))
        #expect(KeyIdentifier.isReadable(name))
    }

    @Test(
        "An identifier with other visible ASCII characters is readable, but not allowed for a new key",
        arguments: ["a+b", "a/b", "\"", "\\", "~", "!"])
    func readOnly(name: String) throws {
        #expect(!KeyIdentifier.isAllowedForNewKey(name))
        #expect(KeyIdentifier.isReadable(name))
        let settings = try HostSettings(json: .object(["pins": .array([]), "kid": .string(name)]))
        #expect(settings.kid == name)
    }

    @Test(
        "Any other identifier is neither readable nor allowed for a new key",
        arguments: [
            "", " ", "a b", "a\nb", "a\u{0}", "\u{7f}", "é", String(repeating: "k", count: 65),
        ])
    func refused(name: String) {
        #expect(!KeyIdentifier.isAllowedForNewKey(name))
        #expect(!KeyIdentifier.isReadable(name))
        #expect(throws: AttestationError.self) { try HostSettings(json: .object(["pins": .array([]), "kid": .string(name)])) }
    }
}
