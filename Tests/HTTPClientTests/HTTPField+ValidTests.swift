import HTTPClient
import HTTPTypes
import Testing

@Suite("Making a field with a valid value")
struct ValidFieldTests {
    @Test("A field is made of the values that the library calls valid, and of no others")
    func agreement() {
        var values = ["", "a", "a b", "a\tb", " a", "a ", "\ta", "a\t", "ü", "e\u{301}", "a\r\nb", "\r\n", "a\u{0}", "a\u{7f}b"]
        values += (UInt8(0)...127).flatMap { byte in
            let character = String(UnicodeScalar(byte))
            return [character, "a\(character)", "\(character)a", "a\(character)a"]
        }
        // Swift's characters must not hide a byte that is not allowed, and its canonical equivalence must not change a value.
        values += [" \u{301}a", "\r\u{301}", "a\u{0}\u{301}", "a \u{301}", "\u{37E}", "\u{212A}"]
        for value in values {
            let field = HTTPField(.accept, valid: value)
            #expect((field != nil) == HTTPField.isValidValue(value), "\(Array(value.utf8))")
            #expect(field.map { Array($0.value.utf8) == Array(value.utf8) } ?? true)
        }
    }
}
