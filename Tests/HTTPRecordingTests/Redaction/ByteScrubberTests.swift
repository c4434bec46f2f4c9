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

    @Test("A number in JSON becomes 0, so that the text stays JSON, and one in a string or in other text does not")
    func numbers() {
        func scrubbed(_ text: String) -> String {
            String(decoding: ByteScrubber(["12345678", "-1234.5e6"]).scrubbed(Array(text.utf8), as: .json), as: UTF8.self)
        }
        #expect(
            scrubbed(#"{"a":12345678,"b":[ -12345678,123456789.5,1.12345678e3],"c":-1234.5e6,"12345678":"12345678"}"#)
                == #"{"a":0,"b":[ -0,0,1.0],"c":0,"REDACTED":"REDACTED"}"#)
    }

    @Test(
        "JSON stays JSON, whatever a secret has in it",
        arguments: [
            ("48.8584,2.2945", #"{"a":[48.8584,2.2945],"b":"48.8584,2.2945"}"#, #"{"a":[48.8584,2.2945],"b":"REDACTED"}"#),
            (#"{"user":1}"#, #"{"user":1}"#, #"{"user":1}"#),
            (#"abc","def"#, #"["abc","def"]"#, #"["REDACTED","def"]"#),
            ("nabcdefgh", #"["\nabcdefgh","x nabcdefgh"]"#, #"["\nabcdefgh","x REDACTED"]"#),
            ("00e9abcde", #"["\u00e9abcde"]"#, #"["\u00e9abcde"]"#), (#"abcdefg\"#, #"["abcdefg\"x"]"#, #"["REDACTEDx"]"#),
        ])
    func staysJSON(secret: String, text: String, result: String) {
        #expect(String(decoding: ByteScrubber([secret]).scrubbed(Array(text.utf8), as: .json), as: UTF8.self) == result)
    }

    @Test("A tag of XML stays, even if a secret has it")
    func staysXML() {
        let scrubbed = ByteScrubber(["abcdefgh</a><b>"]).scrubbed(Array("<r><a>abcdefgh</a><b>c</b></r>".utf8), as: .xml)
        #expect(String(decoding: scrubbed, as: UTF8.self) == "<r><a>REDACTED</a><b>c</b></r>")
        let text = ByteScrubber(["Abc>defgh1"]).scrubbed(Array("<e>bad Abc>defgh1</e>".utf8), as: .xml)
        #expect(String(decoding: text, as: UTF8.self) == "<e>bad REDACTED</e>")
    }

    @Test("Secrets that overlap, or have the same beginning, leave nothing of each other")
    func overlapping() {
        #expect(scrubbed("x abcdefghijklmnop y", "abcdefgh", "fghijklmnop") == "x REDACTED y")
        func text(_ count: Int, _ salt: Int) -> String { (0..<count).map { String(($0 * 7 + ($0 < 120 ? 0 : salt)) % 10) }.joined() }
        let (one, other) = (text(300, 1), text(330, 2))
        #expect(scrubbed("x \(one) y \(other)", one, other) == "x REDACTED y REDACTED")
    }

    @Test("Very many secrets with the same beginning take little longer than one", .timeLimit(.minutes(1)))
    func manySecrets() {
        let secrets = (0..<20_000).map { "https://api.test/\(100_000 + $0)" }
        let text = secrets.joined(separator: " ")
        let result = String(decoding: ByteScrubber(Set(secrets)).scrubbed(Array(text.utf8)), as: UTF8.self)
        #expect(result == Array(repeating: "REDACTED", count: secrets.count).joined(separator: " "))
    }

    @Test("A long secret with many repetitions takes no more time than other text", .timeLimit(.minutes(1)))
    func repetitions() {
        let secret = String(repeating: "1", count: 1 << 16) + "2"
        let text = Array("{\"pin\":\"\(secret)\",\"x\":\"\(String(repeating: "1", count: 2 << 16))\"}".utf8)
        let scrubbed = ByteScrubber([secret]).scrubbed(text, as: .json)
        #expect(scrubbed.count < 1_000)
    }

    @Test("A private key becomes one word, also in JSON and XML", arguments: ["\"", "<", ""])
    func privateKeys(end: String) {
        let key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----"
        #expect(scrubbed("a \(key)\(end) b") == "a REDACTED\(end) b")
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
