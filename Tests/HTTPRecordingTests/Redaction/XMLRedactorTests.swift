import ApproovTesting
import Testing

@testable import HTTPRecording

@Suite struct XMLRedactorTests {
    private func redacted(_ text: String) throws -> String { String(decoding: try redacted(Array(text.utf8)), as: UTF8.self) }

    @discardableResult
    private func redacted(_ bytes: [UInt8]) throws -> [UInt8] {
        var secrets: Set<NotedSecret> = []
        return try XMLRedactor.redacted(bytes, SecretNames(), &secrets)
    }

    /// A reply with the canary in every place that a name announces.
    private static let reply = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- canary --><?x canary?>
        <s:Envelope xmlns:s="urn:soap" xmlns:token='urn:token'>
          <s:Header><w:Security Password = "canary&#x21;"><w:Nonce kind='canary'>canary</w:Nonce></w:Security></s:Header>
          <s:Body><!--<token>canary</token>--><a:accessToken a:type="text">&#x63;anary<![CDATA[canary<]]>canary</a:accessToken>
            <list><item>kept 1.50 &lt; 2 &amp; more</item><pin>4711</pin><secret>canary<b c="canary">canary</b></secret></list>
            <param name="api-key">canary</param><member><name>pass&#119;ord</name><value><s>canary</s></value></member>
            <data><![CDATA[<token>canary</token>]]></data><data>{"jwt":"canary"}</data><data a="?sig=canary">&lt;otp>canary</data>
            <![CDATA[kept & so on]]><empty/></s:Body>
        </s:Envelope>

        """

    @Test("Secrets in elements, attributes, CDATA, references, namespaces, comments and labelled values are replaced, and nothing else")
    func secrets() throws {
        #expect(
            try redacted(Self.reply) == """
                <?xml version="1.0" encoding="UTF-8"?>
                <!--REDACTED--><?x REDACTED?>
                <s:Envelope xmlns:s="urn:soap" xmlns:token='urn:token'>
                  <s:Header><w:Security Password = "REDACTED"><w:Nonce kind='canary'>canary</w:Nonce></w:Security></s:Header>
                  <s:Body><!--REDACTED--><a:accessToken a:type="REDACTED">REDACTEDREDACTEDREDACTED</a:accessToken>
                    <list><item>kept 1.50 &lt; 2 &amp; more</item><pin>0</pin><secret>REDACTED<b c="REDACTED">REDACTED</b></secret></list>
                    <param name="api-key">REDACTED</param><member><name>pass&#119;ord</name><value><s>REDACTED</s></value></member>
                    <data>REDACTED</data><data>REDACTED</data><data a="REDACTED">REDACTED</data>
                    <![CDATA[kept & so on]]><empty/></s:Body>
                </s:Envelope>

                """)
    }

    @Test("White space, true and false stay, so that a program can read the document as before")
    func kept() throws {
        let text = "<token nil=\"true\"> <a>false</a>\n<b/></token >\n"
        #expect(try redacted(text) == text)
        let html = "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0//EN\" \"x.dtd\"><html>&nbsp;&</html>"
        #expect(try redacted(html) == html)
    }

    @Test(
        "A label announces the secret beside it",
        arguments: [
            ("<a key=\"password\" value=\"x\"/>", "<a key=\"REDACTED\" value=\"REDACTED\"/>"),
            (
                "<d><key>user</key><s>bob</s><key>token</key><s>x</s></d>",
                "<d><key>REDACTED</key><s>bob</s><key>REDACTED</key><s>REDACTED</s></d>"
            ),
            (
                "<d><name>token</name><v>x</v><name>user</name><v>bob</v></d>",
                "<d><name>token</name><v>REDACTED</v><name>user</name><v>bob</v></d>"
            ),
            ("<d name=\"Session 1\" id=\"18\"><a>1</a></d>", "<d name=\"Session 1\" id=\"18\"><a>1</a></d>"),
            (
                "<d><name>USB Security Key</name><id>17</id><name>Session 1</name><id>18</id></d>",
                "<d><name>USB Security Key</name><id>17</id><name>Session 1</name><id>18</id></d>"
            ),
            (
                "<d><name>Client Secret</name><value>x</value><id>1</id></d>",
                "<d><name>Client Secret</name><value>REDACTED</value><id>1</id></d>"
            ),
            (
                "<p name=\"Client Secret\" id=\"1\" Value=\"x\">y<value>z</value></p>",
                "<p name=\"Client Secret\" id=\"1\" Value=\"REDACTED\">REDACTED<value>REDACTED</value></p>"
            ),
            (
                "<p name=\"Client Secret\"><key>id</key><value>x</value></p>",
                "<p name=\"Client Secret\"><key>REDACTED</key><value>REDACTED</value></p>"
            ),
            ("<d><value>x</value><name>token</name></d>", "<d><value>x</value><name>token</name></d>"),
            ("<d><name><![CDATA[token]]></name><v>x</v></d>", "<d><name><![CDATA[token]]></name><v>REDACTED</v></d>"),
        ])
    func labels(text: String, result: String) throws { #expect(try redacted(text) == result) }

    @Test(
        "A labelled value and the child of an announced one are noted, and what is deeper is not",
        arguments: [
            ("<r><param name=\"password\">hunter2-hunter2</param></r>", ["hunter2-hunter2"]),
            ("<m><name>password</name><value><string>hunter2-hunter2</string></value></m>", ["hunter2-hunter2"]),
            ("<m><name>password</name><value><a><b>10000042-x</b></a></value></m>", []),
            ("<token>hunter2-hunter2<a>10000042-x</a></token>", ["hunter2-hunter2"]),
        ])
    func noted(text: String, result: [String]) throws {
        var secrets: Set<NotedSecret> = []
        _ = try XMLRedactor.redacted(Array(text.utf8), SecretNames(), &secrets)
        #expect(Set(secrets.map(\.text)) == Set(result))
    }

    @Test("Secrets before the place where a document turns out to be malformed are noted")
    func notedBefore() {
        var secrets: Set<NotedSecret> = []
        #expect(throws: XMLRedactor.Malformed.self) {
            try XMLRedactor.redacted(Array("<a><token>hunter2-hunter2</token>".utf8), SecretNames(), &secrets)
        }
        #expect(secrets.map(\.text) == ["hunter2-hunter2"])
    }

    @Test(
        "What is no well-formed XML is refused",
        arguments: [
            "", " ", "x", "<", "<a", "<a>", "</a>", "<a></b>", "<a/><b/>", "<a/>x", "x<a/>", "<a b></a>", "<a b=c></a>", "<a b=\"c></a>",
            "<a b=\"<\"></a>", "<a b=\"c\"d=\"e\"/>",
            "<a / >", "<a><!-- </a>", "<a><![CDATA[ </a>", "<a><? ?></a>", "<a><!ENTITY b \"c\"></a>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "<!DOCTYPE a \"<\"><a/>", "<a/><!DOCTYPE a>", "<![CDATA[x]]>", "<a>\u{0}</a>",
            "<?xml version=\"1.0\" encoding='shift_jis'?><a/>", "<?xml encoding?><a/>", "<?xml?>", "<a><!>\u{1}</a>", "<a></a",
        ])
    func malformed(text: String) { #expect(throws: XMLRedactor.Malformed.self) { try redacted(text) } }

    @Test("Bytes that are no UTF-8 are refused")
    func otherBytes() {
        for bytes: [UInt8] in [[0x3C, 0x61, 0x3E, 0xE9, 0x3C, 0x2F, 0x61, 0x3E], [0xFF, 0xFE, 0x3C, 0], [0, 0x3C, 0, 0x61]] {
            #expect(throws: XMLRedactor.Malformed.self) { try redacted(bytes) }
        }
    }

    @Test("A document that is cut anywhere before its last tag ends is refused")
    func cuts() {
        let bytes = Array(Self.reply.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: ">")) ?? 0
        for length in 0...end {
            #expect(throws: XMLRedactor.Malformed.self) { try redacted(Array(bytes[..<length])) }
        }
    }

    @Test("Nesting of a thousand levels is read, and one more is refused")
    func deep() throws {
        func text(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth - 1) + "<token>x</token>" + String(repeating: "</a>", count: depth - 1)
        }
        #expect(try redacted(text(1_000)) == text(1_000).replacing(">x<", with: ">REDACTED<"))
        #expect(throws: XMLRedactor.Malformed.self) { try redacted(text(1_001)) }
    }

    @Test("A document of random parts is refused, or has no secret left")
    func random() throws {
        let parts = [
            "<a>", "</a>", "<token>", "</token>", "<b token='canary'>", "</b>", "<b c=\"d\"/>", "<token>canary</token>",
            "<![CDATA[canary]]>",
            "canary", "<!-- canary -->", "<![CDATA[", "]]>", "<!--", "-->", "'", "\"", ">", "<", "&", ";", "<?x canary?>", " ",
        ]
        var (generator, read) = (SeededGenerator(seed: 1), 0)
        for _ in 0..<20_000 {
            let body = (0..<Int.random(in: 1...6, using: &generator)).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
            guard let result = try? redacted("<secret>\(body)</secret>") else { continue }
            read += 1
            // In a document that is read the parser is where it was, so no part of the root escapes its name.
            #expect(!result.contains("canary"), "\(body)")
        }
        #expect(read > 1_000)
    }

    @Test("Random changes of a document do not stop the redactor")
    func changed() {
        var generator = SeededGenerator(seed: 2)
        let bytes = Array(Self.reply.utf8)
        for _ in 0..<5_000 {
            var copy = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                copy[Int.random(in: 0..<copy.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
            }
            _ = try? redacted(copy)
        }
    }
}
