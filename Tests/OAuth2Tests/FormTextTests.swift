import Testing

@testable import OAuth2

@Suite struct FormTextTests {
    @Test("Every byte survives encoding and decoding, and only safe characters stay as they are")
    func roundTrip() throws {
        let text = String(decoding: (0...127).map { UInt8($0) }, as: UTF8.self) + "äöü€😀"
        let encoded = FormText.encode([("n&=", text), ("empty", "")])
        #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        let decoded = try #require(FormText.decode(encoded, limit: 2))
        #expect(decoded.map(\.name) == ["n&=", "empty"])
        #expect(decoded.map(\.value) == [text, ""])
        #expect(FormText.encode("a b+c") == "a+b%2Bc")
    }

    @Test(
        "A bad percent sign, bytes that are not UTF-8 and too many parameters are refused",
        arguments: ["a=%", "a=%4", "a=%zz", "a=%FF", "a=1&b=2&c=3"])
    func refused(text: String) { #expect(FormText.decode(text, limit: 2) == nil) }
}
