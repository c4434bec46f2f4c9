import ApproovBase
import Testing

@Suite struct PercentEncodingTests {
    @Test("Unreserved characters stay, and all other bytes are encoded in upper case")
    func encoding() {
        #expect(PercentEncoding.encoded("aZ0-._~ /%+é\n") == "aZ0-._~%20%2F%25%2B%C3%A9%0A")
        #expect(PercentEncoding.encoded("").isEmpty)
        let starred = PercentEncoding.encoded("a*~".utf8, keeping: { $0 == UInt8(ascii: "a") || $0 == UInt8(ascii: "*") })
        #expect(String(decoding: starred, as: UTF8.self) == "a*%7E")
    }

    @Test("Every byte survives being encoded and decoded")
    func roundTrip() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(PercentEncoding.leniently(PercentEncoding.encoded(bytes)) == bytes)
    }

    @Test("Strict decoding refuses malformed escapes and bytes that are not UTF-8, and leaves a plus sign as it is")
    func strict() {
        #expect(PercentEncoding.decoded("a%20b+c%c3%A9") == "a b+cé")
        #expect(PercentEncoding.decoded("a%20b"[...]) == "a b")
        for text in ["%", "%4", "a%4", "%4g", "%+1", "%+a", "% 1", "%ff", "%%41"] {
            #expect(PercentEncoding.decoded(text) == nil, "\(text)")
        }
    }

    @Test("Lenient decoding keeps malformed escapes as they are, and takes no sign for a digit")
    func lenient() {
        func decoded(_ text: String) -> String { String(decoding: PercentEncoding.leniently(text.utf8), as: UTF8.self) }
        #expect(decoded("%41%4") == "A%4")
        #expect(decoded("%+a%-1%4g%%41%") == "%+a%-1%4g%A%")
        #expect(decoded("%ff") == "\u{FFFD}")
    }
}
