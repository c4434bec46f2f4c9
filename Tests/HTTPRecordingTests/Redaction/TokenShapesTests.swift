import Testing

@testable import HTTPRecording

@Suite struct TokenShapesTests {
    private func rest(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        return TokenShapes.endOfPrivateKey(in: bytes[...], at: 0).map { String(decoding: bytes[$0...], as: UTF8.self) }
    }

    @Test(
        "A private key ends with its last line, or before what ends the text around it",
        arguments: [
            ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nx", "\nx"), ("-----BEGIN EC PRIVATE KEY-----MIIE\" x", "\" x"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----MI\\\" x", "\\\" x"), ("-----BEGIN PRIVATE KEY-----MI</key>", "</key>"),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----MI", ""), ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END x", ""),
        ])
    func privateKey(text: String, rest: String) { #expect(self.rest(text) == rest) }

    @Test("A private key that begins within a token ends at its own end")
    func keyInToken() {
        #expect(
            ByteScrubber([]).scrubbed(Array("eyJhbGciOiJIUzI1NiJ9.a.b-----BEGIN PRIVATE KEY-----canary x-----END PRIVATE KEY-----y".utf8))
                == Array("REDACTEDy".utf8))
    }

    @Test(
        "Other text is no private key",
        arguments: [
            "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PRIVATE KEY", "-----", "-----BEGIN private key-----",
        ])
    func others(text: String) { #expect(rest(text) == nil) }

    @Test("Many beginnings take no more time than other text", .timeLimit(.minutes(1)))
    func manyBeginnings() {
        let text = String(repeating: "-----BEGIN PRIVATE KEY_", count: 20_000)
        let isSame = ByteScrubber([]).scrubbed(Array(text.utf8)) == Array(text.utf8)
        #expect(isSame)
        for begin in ["-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.a.-----BEGIN PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.a.b "] {
            let keys = String(repeating: begin, count: 20_000) + "-----END PRIVATE KEY-----"
            let scrubbed = ByteScrubber([]).scrubbed(Array(keys.utf8))
            #expect(!scrubbed.contains(UInt8(ascii: "e")))
        }
    }
}
