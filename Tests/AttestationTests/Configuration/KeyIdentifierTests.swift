import Attestation
import Testing

@Suite struct KeyIdentifierTests {
    @Test(
        "a name of letters, digits, dots, dashes and underscores may be given to a new key and read",
        arguments: [
            "k", "2026-11.key_A", String(repeating: "k", count: 64),
        ])
    func plain(name: String) {
        #expect(KeyIdentifier.isAllowedForNewKey(name))
        #expect(KeyIdentifier.isReadable(name))
    }

    @Test("a name of other visible ASCII characters is read, and is given to no new key", arguments: ["a+b", "a/b", "\"", "\\", "~", "!"])
    func readOnly(name: String) throws {
        #expect(!KeyIdentifier.isAllowedForNewKey(name))
        #expect(KeyIdentifier.isReadable(name))
        let settings = try HostSettings(json: .object(["pins": .array([]), "kid": .string(name)]))
        #expect(settings.kid == name)
    }

    @Test(
        "any other name is neither given nor read",
        arguments: [
            "", " ", "a b", "a\nb", "a\u{0}", "\u{7f}", "é", String(repeating: "k", count: 65),
        ])
    func refused(name: String) {
        #expect(!KeyIdentifier.isAllowedForNewKey(name))
        #expect(!KeyIdentifier.isReadable(name))
        #expect(throws: AttestationError.self) { try HostSettings(json: .object(["pins": .array([]), "kid": .string(name)])) }
    }
}
