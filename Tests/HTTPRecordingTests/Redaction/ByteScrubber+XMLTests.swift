import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberXMLTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets.map { NotedSecret($0) })).scrubbed(Array(text.utf8), as: .xml), as: UTF8.self)
    }

    @Test(
        "XML stays XML, whatever a secret has in it",
        arguments: [
            ("abcdefgh</a><b>", "<r><a>abcdefgh</a><b>c</b></r>", "<r><a>REDACTED</a><b>c</b></r>"),
            ("Abc>defgh1", "<e>bad Abc>defgh1</e>", "<e>bad REDACTED</e>"), ("lt;abcdefgh", "<e>a&lt;abcdefgh</e>", "<e>REDACTED</e>"),
            ("a=\"b c\" d=", "<e a=\"b c\" d='e'/>", "<e a=\"b c\" d='e'/>"),
            ("iso-8859-1", "<?xml encoding=\"iso-8859-1\"?><r/>", "<?xml encoding=\"iso-8859-1\"?><r/>"),
            (
                "abcdefgh", "<!DOCTYPE a '><a xmlns='abcdefgh' xmlns:b = \"abcdefgh\" c='abcdefgh'/>",
                "<!DOCTYPE a '><a xmlns='abcdefgh' xmlns:b = \"abcdefgh\" c='REDACTED'/>"
            ),
            ("abcdefgh", "<abcdefgh a='b'>abcdefgh</abcdefgh>", "<abcdefgh a='b'>REDACTED</abcdefgh>"),
            (
                "abcdefgh", "<?xml version=\"1.0\"?><!--REDACTED--><e f='abcdefgh'/>\n",
                "<?xml version=\"1.0\"?><!--REDACTED--><e f='REDACTED'/>\n"
            ),
        ])
    func staysXML(secret: String, text: String, result: String) { #expect(scrubbed(text, secret) == result) }

    @Test(
        "A secret with markup is removed from CDATA as a whole",
        arguments: [
            ("p4ss<w0rd99", "<a><![CDATA[x p4ss<w0rd99 &]]></a>", "<a><![CDATA[x REDACTED &]]></a>"),
            ("pa&ss-word1", "<a><![CDATA[<b>pa&amp;ss-word1</b>]]></a>", "<a><![CDATA[REDACTED]]></a>"),
            ("p4ss]]w0rd99", "<a><![CDATA[p4ss]]w0rd99]]>b</a>", "<a><![CDATA[REDACTED]]>b</a>"),
        ])
    func characterData(secret: String, text: String, result: String) { #expect(scrubbed(text, secret) == result) }

    @Test("A secret that itself looks like a reference is found", arguments: ["R&amp;lt;D/2024xx", "R&#38;lt;D/2024xx", "R%26lt;D/2024xx"])
    func looksLikeReference(text: String) { #expect(scrubbed("<e>bad \(text)</e>", "R&lt;D/2024xx") == "<e>REDACTED</e>") }

    @Test("A private key without its last line ends with its section or attribute")
    func privateKeys() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIE"
        #expect(scrubbed("<a><![CDATA[\(key)]]></a>") == "<a><![CDATA[REDACTED]]></a>")
        #expect(scrubbed("<a b='\(key)' c='d'/>") == "<a b='REDACTED' c='d'/>")
        #expect(scrubbed("<a>\(key)</a>") == "<a>REDACTED</a>")
    }

    @Test(
        "A secret that is spelled with references is found",
        arguments: [
            "<a>pa&amp;ss-word1</a>", "<a>pa&#38;ss-word1</a>", "<a>x pa&#x26;ss&#45;word1</a>", "<a>pa&amp;amp;ss-word1</a>",
            "<a>pa%26ss-word1</a>",
        ])
    func references(text: String) { #expect(scrubbed(text, "pa&ss-word1") == "<a>REDACTED</a>") }

    @Test("A secret that looks as if it were encoded is found")
    func looksEncoded() { #expect(scrubbed("<e>bad Xk%b7&amp;9aQ!zz</e>", "Xk%b7&9aQ!zz") == "<e>REDACTED</e>") }

    @Test("What stands around a secret stays, if it can be found as it is spelled")
    func around() {
        #expect(
            scrubbed("<a b=\"x &lt; abcdefgh\">&amp;abcdefgh &quot;abcdefgh&quot; &</a>", "abcdefgh")
                == "<a b=\"x &lt; REDACTED\">&amp;REDACTED &quot;REDACTED&quot; &</a>")
    }

    @Test("A secret whose beginning is another secret leaves nothing of its end, however it is spelled")
    func beginnings() {
        #expect(scrubbed("<e>bad: Abcdefg1&amp;Xyz98765</e>", "Abcdefg1", "Abcdefg1&Xyz98765") == "<e>REDACTED</e>")
        #expect(scrubbed("<e>bad: Abcdefg1&amp;Xyz98765</e>", "Abcdefg1") == "<e>bad: REDACTED&amp;Xyz98765</e>")
    }

    @Test("Many private keys in the attributes of a tag take no more time than other text", .timeLimit(.minutes(1)))
    func manyKeys() {
        let attributes = (0..<20_000).map { " a\($0)='-----BEGIN PRIVATE KEY-----x'" }.joined()
        #expect(!scrubbed("<a\(attributes)/>").contains("BEGIN"))
    }
}
