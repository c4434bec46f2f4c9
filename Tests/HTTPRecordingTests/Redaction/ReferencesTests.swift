import Testing

@testable import HTTPRecording

@Suite struct ReferencesTests {
    @Test("References in references are read, too, or only once")
    func nested() {
        let text = Array("a&amp;lt;b&#38;amp;".utf8)
        #expect(String(decoding: References.decoded(text[...]), as: UTF8.self) == "a<b&")
        #expect(String(decoding: References.decodedOnce(text[...]), as: UTF8.self) == "a&lt;b&amp;")
    }

    @Test("References in references, and references with many zeros, take no more time than other text", .timeLimit(.minutes(1)))
    func longReferences() {
        let count = 100_000
        #expect(References.decoded(Array(("&" + String(repeating: "amp;", count: count) + "lt;").utf8)[...]) == [UInt8(ascii: "<")])
        let zeros = Array((String(repeating: "&#x", count: count) + String(repeating: "0", count: count)).utf8)
        #expect(References.decoded(zeros[...]) == zeros)
    }
}
