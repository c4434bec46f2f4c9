import ApproovBase
import Testing

@Suite struct Base32Tests {
    @Test(
        "Base32 encodes and decodes the vectors of RFC 4648, section 10, without padding",
        arguments: [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
        ])
    func vectors(plain: String, encoded: String) {
        #expect(Base32.encode(plain.utf8) == encoded)
        #expect(Base32.decode(encoded) == Array(plain.utf8))
    }

    @Test("Base32 decodes random bytes of any length up to 39 from their encoding")
    func roundTrip() {
        for count in 0..<40 {
            let bytes = SystemRandom.bytes(count)
            #expect(Base32.decode(Base32.encode(bytes)) == bytes)
        }
    }

    @Test(
        "Base32 rejects padding, lower case, other characters, and encodings that are not canonical",
        arguments: ["MY======", "my", "M1", "MZ", "M", "MZX", "ä"])
    func refused(text: String) {
        #expect(Base32.decode(text) == nil)
    }
}
