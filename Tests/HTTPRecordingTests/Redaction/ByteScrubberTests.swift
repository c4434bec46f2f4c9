import Foundation
import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets.map { NotedSecret($0) })).scrubbed(Array(text.utf8)), as: UTF8.self)
    }

    @Test("A secret of eight bytes is removed wherever it stands, the longest first, and a shorter one is not")
    func secrets() {
        #expect(scrubbed("12345678 123456789 1234567", "12345678", "123456789", "1234567") == "REDACTED REDACTED 1234567")
        #expect(scrubbed("1234567123456781", "12345678") == "1234567REDACTED1")
        #expect(scrubbed("REDACTED REDACTED-123abc", "REDACTED", "REDACTED-123abc") == "REDACTED REDACTED-123abc")
    }

    @Test("Secrets that overlap, or have the same beginning, leave nothing of each other")
    func overlapping() {
        #expect(scrubbed("x abcdefghijklmnop y", "abcdefgh", "fghijklmnop") == "x REDACTED y")
        func text(_ count: Int, _ salt: Int) -> String { (0..<count).map { String(($0 * 7 + ($0 < 120 ? 0 : salt)) % 10) }.joined() }
        let (one, other) = (text(300, 1), text(330, 2))
        #expect(scrubbed("x \(one) y \(other)", one, other) == "x REDACTED y REDACTED")
    }

    @Test("A token that begins like a noted piece is removed to its end")
    func tokenAfterPiece() {
        let header = "eyJhbGciOiJSUzI1NiJ9." + String(repeating: "a", count: 200)
        let (noted, other) = (header + ".c2ln" + String(repeating: "b", count: 342), header + ".c2ln" + String(repeating: "d", count: 342))
        #expect(scrubbed("x \(other) y \(noted) z", noted) == "x REDACTED y REDACTED z")
        let begin = noted.prefix(noted.utf8.count / 5)
        #expect(scrubbed("x \(begin)-----BEGIN PRIVATE KEY-----canary", noted) == "x REDACTED")
    }

    @Test(
        "A secret in another spelling is found in text, and the piece around it goes",
        arguments: [
            ("abcd1234ef==", "<b>bad abcd1234ef&#x3D;&#x3D; x</b>", "<b>bad REDACTED x</b>"),
            ("ab/cd+ef12345", "<a href=\"/x?y=ab%2Fcd%2Bef12345&z=1\">see</a>", "<a href=\"REDACTED\">see</a>"),
            ("ab/cd+ef12345", "bad ab\\/cd\\u002Bef12345, try again", "bad REDACTED try again"),
            ("my own dog12", "x?y=my+own+dog12 my own dog12", "REDACTED REDACTED"),
            ("Abcdefg1&Xyz98765", "a Abcdefg1&amp;Xyz98765 b", "a REDACTED b"),
            ("abcdefgh", "a+abcdefgh%20x 100%25 &amp; b", "a+REDACTED%20x 100%25 &amp; b"),
            ("unheard-of1", "a%2Fb &lt;c&gt; d+e \\u0041\\u0041", "a%2Fb &lt;c&gt; d+e \\u0041\\u0041"),
        ])
    func otherSpellings(secret: String, text: String, result: String) {
        #expect(scrubbed(text, secret) == result)
        // The beginning of the secret is another one, which is found as it is spelled.
        #expect(!scrubbed(text, secret, String(secret.prefix(8))).contains(String(secret.suffix(4))))
    }

    @Test("A piece with a secret in another spelling that overlaps with a secret as it is spelled leaves nothing of it")
    func overlappingPieces() {
        #expect(scrubbed("a ab%2Fcdefgh word-1 b", "ab/cdefgh", "2Fcdefgh word-1") == "a REDACTED b")
    }

    @Test("Very many pieces with signs of an encoding take little longer than other text", .timeLimit(.minutes(1)))
    func manyPieces() {
        let text = String(repeating: "a%2Fb&amp;c+d\\u0041 ", count: 5_000)
        #expect(scrubbed(text, "canary-canary") == text)
    }

    @Test("Very many secrets with the same beginning take little longer than one", .timeLimit(.minutes(1)))
    func manySecrets() {
        let secrets = (0..<20_000).map { "https://api.test/\(100_000 + $0)" }
        let text = secrets.joined(separator: " ")
        let result = String(decoding: ByteScrubber(Set(secrets.map { NotedSecret($0) })).scrubbed(Array(text.utf8)), as: UTF8.self)
        #expect(result == Array(repeating: "REDACTED", count: secrets.count).joined(separator: " "))
    }

    @Test("A long secret with many repetitions takes no more time than other text", .timeLimit(.minutes(1)))
    func repetitions() {
        let secret = String(repeating: "1", count: 1 << 16) + "2"
        let text = Array("{\"pin\":\"\(secret)\",\"x\":\"\(String(repeating: "1", count: 2 << 16))\"}".utf8)
        let scrubbed = ByteScrubber([NotedSecret(secret)]).scrubbed(text, as: .json)
        #expect(scrubbed.count < 1_000)
    }

    @Test("A private key becomes one word, also in JSON and XML", arguments: ["\"", "<", ""])
    func privateKeys(end: String) {
        let key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----"
        #expect(scrubbed("a \(key)\(end) b") == "a REDACTED\(end) b")
    }

    @Test("JSON Web Tokens are removed, and other words that begin like one are not")
    func tokens() {
        #expect(scrubbed("a eyJhbGciOiJIUzI1NiJ9.e30.c2ln b") == "a REDACTED b")
        #expect(scrubbed("eyJhbGciOiJIUzI1NiJ9.e30.") == "REDACTED")
        #expect(scrubbed("\"eyJhbGciOiJIUzI1NiJ9.a.b.c.d\"") == "\"REDACTED\"")
        for word in ["HeyJude.mp3.torrent", "surveyJourney.step1.title", "publicKeyJwk.kty.x", "HeyJude..."] {
            #expect(scrubbed(word) == word)
        }
        #expect(scrubbed("eyJhb.only one dot, eyJ, eyJ.") == "eyJhb.only one dot, eyJ, eyJ.")
    }

    @Test("A token is found although its header has blanks or line breaks", arguments: [0, 1, 2, 15, 16, 17, 1_000])
    func blanksInHeader(count: Int) {
        for blank in [" ", "\n", "\t", "\r"] {
            let blanks = String(repeating: blank, count: count)
            for header in [#"{"alg":"HS256"}"# + blanks, "{" + blanks + #""alg":"HS256"}"#] {
                let encoded = Data(header.utf8).base64EncodedString().trimmingCharacters(in: ["="])
                #expect(scrubbed("a \(encoded).e30.c2ln b") == "a REDACTED b")
                #expect(scrubbed("a keyJwt_\(encoded).e30.c2ln b") == "a keyJwt_REDACTED b")
            }
        }
    }

    @Test("A token is also found after a word that begins like one, and after other text in base64url")
    func tokenAfterWord() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"
        for word in ["keyJwt.", "keyJwt_", "surveyJourney.", "journeyJWT-", "YWJjeyJ4IjoxfSw.", "eyJ.eyJ", "eyJhb.a.b.c."] {
            #expect(scrubbed("a \(word)\(token) b") == "a \(word)REDACTED b")
        }
    }

    @Test(
        "A long text that looks like the beginning of many tokens is read once, and a token after it is removed", .timeLimit(.minutes(1)))
    func manyBeginnings() {
        let text = String(repeating: "eyJ", count: 200_000)
        #expect(scrubbed(text + " eyJhbGciOiJIUzI1NiJ9.e30.c2ln") == text + " REDACTED")
        let segments = String(repeating: "eyJ.", count: 200_000)
        #expect(scrubbed(segments + "eyJhbGciOiJIUzI1NiJ9.e30.c2ln") == segments + "REDACTED")
        #expect(scrubbed(text + ".a.b") == text + ".a.b")
    }

    @Test("Of two spellings that are one text for Unicode both are removed")
    func unicode() {
        #expect(scrubbed("a caf\u{E9}-12345 b cafe\u{301}-12345", "caf\u{E9}-12345", "cafe\u{301}-12345") == "a REDACTED b REDACTED")
    }

    @Test("Any other byte stays")
    func otherBytes() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(ByteScrubber([NotedSecret("canary-canary")]).scrubbed(bytes) == bytes)
    }
}
