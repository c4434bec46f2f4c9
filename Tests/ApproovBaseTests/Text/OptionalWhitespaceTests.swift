@_spi(Internals) import ApproovBase
import Testing

@Suite struct OptionalWhitespaceTests {
    @Test("Spaces and tabs around a value are removed, and those within it stay")
    func trimmed() {
        for (text, expected) in [
            ("", ""), (" ", ""), ("\t \t", ""), ("a", "a"), (" a", "a"), ("a\t", "a"), (" \ta \t b\t ", "a \t b"), ("é ", "é"),
        ] {
            #expect(String(decoding: OptionalWhitespace.trimmed(text.utf8), as: UTF8.self) == expected, "\(text)")
            #expect(Array(OptionalWhitespace.trimmed(Array("x\(text)x".utf8)[1...].dropLast())) == Array(expected.utf8), "\(text)")
        }
    }

    @Test("No other byte counts: not a line break, and not NUL")
    func others() {
        #expect((UInt8.min...UInt8.max).filter(OptionalWhitespace.contains) == [0x09, 0x20])
        #expect(Array(OptionalWhitespace.trimmed(Array("\r\n".utf8))) == [0x0D, 0x0A])
    }
}
