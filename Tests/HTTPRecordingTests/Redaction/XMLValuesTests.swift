import Testing

@testable import HTTPRecording

@Suite struct XMLValuesTests {
    private func redacted(_ text: String) throws -> String {
        var secrets: Set<NotedSecret> = []
        return String(decoding: try XMLRedactor.redacted(Array(text.utf8), SecretNames(["api.code", "pet name"]), &secrets), as: UTF8.self)
    }

    @Test(
        "A secret in the text of an element is found when CDATA, a comment or a child divides it",
        arguments: [
            "<url>https://h/cb?token=<![CDATA[canary&canary]]></url>", "<q>token=ab<!--x-->canary</q>", "<q>password<!--x-->=canary</q>",
            "<q>password<?x?>: canary</q>", "<q>token=<b c='canary'>canary<d/>canary</b>canary</q>", "<q>the pin <b/> canary</q>",
        ])
    func divided(text: String) throws { #expect(try !redacted(text).contains("canary")) }

    @Test("A value with references in references is noted with each of its meanings")
    func noted() throws {
        var secrets: Set<NotedSecret> = []
        _ = try XMLRedactor.redacted(Array("<token>R&amp;lt;D/2024xx</token>".utf8), SecretNames(), &secrets)
        #expect(Set(secrets.map(\.text)) == ["R&amp;lt;D/2024xx", "R&lt;D/2024xx", "R<D/2024xx"])
    }

    @Test("A piece of text with a secret's name makes nothing outside its element secret")
    func outside() throws {
        #expect(try redacted("<a>b<c>token<!--x--> d</c>e<f>g</f></a>") == "<a>b<c>token<!--REDACTED-->REDACTED</c>e<f>g</f></a>")
        #expect(try redacted("<a>see token <b> </b>\n</a>") == "<a>see token <b> </b>\n</a>")
    }

    @Test(
        "A setting, or a document or query inside the document, is found",
        arguments: [
            "<log>password: canary</log>", "<header>Authorization: Basic canary</header>", "<a b=\"pin : canary\"/>",
            "<p>&amp;lt;password&amp;gt;canary</p>", "<p>&amp;#38;amp;lt;password&amp;amp;gt;canary</p>", "<p>token&amp;amp;#61;canary</p>",
            "<p><![CDATA[&lt;password&gt;canary]]></p>", "<p a='&#123;&#34;jwt&#34;:&#34;canary'/>",
            "<p>pass&#x0000000000000000000000000077;ord=canary</p>", "<p>pass&#000000000000000000000000119;ord=canary</p>",
            "<p>api.code=canary</p>", "<param name=\" api.code \" value=\"canary\"/>", "<param key=\"pet name\" value=\"canary\"/>",
            "<m><name>\npet name\n</name><v>canary</v></m>", "<entry><key>password</key>canary</entry>",
            "<entry><key>password</key><![CDATA[canary]]></entry>",
            "<m><name>\(String(repeating: " ", count: 300))<!--x-->\(String(repeating: "\n", count: 300))token</name><v>canary</v></m>",
        ])
    func settings(text: String) throws { #expect(try !redacted(text).contains("canary")) }

    @Test(
        "Other values stay",
        arguments: [
            "<p>the password is secret</p>", "<p>at 12:00: see a=b &amp;amp; {c}</p>", "<p>AT&amp;T &amp;unknown; &#0; &#x; &#xD800; &</p>",
            "<param name=\"code\" value=\"1\"/>", "<p>code.api=1, see https://x.test</p>", "<m><name>user</name>bob</m>",
            "<m><name>token</name>\n<v>true</v></m>",
        ])
    func others(text: String) throws { #expect(try redacted(text) == text) }
}
