import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets)).scrubbed(Array(text.utf8)), as: UTF8.self)
    }

    @Test("A secret of eight bytes is removed wherever it stands, the longest first, and a shorter one is not")
    func secrets() {
        #expect(scrubbed("12345678 123456789 1234567", "12345678", "123456789", "1234567") == "REDACTED REDACTED 1234567")
        #expect(scrubbed("1234567123456781", "12345678") == "1234567REDACTED1")
        #expect(scrubbed("REDACTED REDACTED-123abc", "REDACTED", "REDACTED-123abc") == "REDACTED REDACTED-123abc")
    }

    @Test("JSON Web Tokens are removed, and other words that begin like one are not")
    func tokens() {
        #expect(scrubbed("a eyJhbGciOiJI.e30.c2ln b") == "a REDACTED b")
        #expect(scrubbed("eyJhbGciOiJI.e30.") == "REDACTED")
        #expect(scrubbed("\"eyJhb.a.b.c.d\"") == "\"REDACTED\"")
        #expect(scrubbed("eyJhb.only one dot, eyJ, eyJ.") == "eyJhb.only one dot, eyJ, eyJ.")
    }

    @Test("A long text that looks like the beginning of many tokens is read once, and a token after it is removed")
    func manyBeginnings() {
        let text = String(repeating: "eyJ", count: 200_000)
        #expect(scrubbed(text + " eyJhbGciOiJI.e30.c2ln") == text + " REDACTED")
    }

    @Test("Any other byte stays")
    func otherBytes() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(ByteScrubber(["canary-canary"]).scrubbed(bytes) == bytes)
    }
}
