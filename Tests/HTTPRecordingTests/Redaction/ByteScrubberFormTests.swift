import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberFormTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets)).scrubbed(Array(text.utf8), as: .form), as: UTF8.self)
    }

    @Test("A secret is found with percent-encoding and blanks")
    func encoded() {
        #expect(scrubbed("a=b&error=bad+pa%26ss-word1", "pa&ss-word1") == "a=b&error=REDACTED")
        #expect(scrubbed("a=my+own+dog&b", "my own dog") == "a=REDACTED&b")
        #expect(scrubbed("a=-----BEGIN+PRIVATE+KEY-----%0Acanary%0A&b=c") == "a=REDACTED&b=c")
        #expect(scrubbed("abcdefgh=abcdefgh+x&y=%41", "abcdefgh") == "REDACTED=REDACTED+x&y=%41")
    }

    @Test("Other forms stay", arguments: ["", "&", "=", "a=b=c&&d", "a=100%&b=%zz+%2", "a=%F0%9F%98%80+b"])
    func others(text: String) { #expect(scrubbed(text, "abcdefgh") == text) }
}
