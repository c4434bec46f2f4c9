import Attestation
import Testing

@Suite struct SecureStringRulesTests {
    @Test("keys are 1 to 64 visible ASCII characters")
    func keys() {
        for key in ["a", "api-key", "!~", String(repeating: "k", count: 64)] { #expect(SecureStringRules.isKey(key), "\(key)") }
        for key in ["", " ", "a b", "a\n", "a\u{0}", "é", "\u{7f}", String(repeating: "k", count: 65)] {
            #expect(!SecureStringRules.isKey(key), "\(key)")
        }
    }

    @Test("values are 1 to 4,096 bytes without CR, LF and NUL, in any position")
    func values() {
        for value in ["x", " ", "\t", "é", "Bearer x", String(repeating: "v", count: 4_096)] { #expect(SecureStringRules.isValue(value)) }
        for end in ["\r", "\n", "\r\n", "\u{0}"] {
            for value in [end, "a" + end, end + "a", "a\(end)b"] { #expect(!SecureStringRules.isValue(value)) }
        }
        #expect(!SecureStringRules.isValue("") && !SecureStringRules.isValue(String(repeating: "v", count: 4_097)))
        #expect(!SecureStringRules.isValue(String(repeating: "é", count: 2_049)))
    }
}
