import CertificatePinning
import Testing

@Suite("HostPattern")
struct HostPatternTests {
    private static let hosts = ["a.test", "x.a.test", "y.x.a.test", "evila.test", "a.test.evil.test", "test", "1.2.3.4", "::1"]

    @Test(
        "a pattern is for the hosts that it says and for no other",
        arguments: [
            ("a.test", false, ["a.test"]),
            ("A.TEST.", false, ["a.test"]),
            ("a.test", true, ["a.test", "x.a.test", "y.x.a.test"]),
            ("*.a.test", false, ["x.a.test"]),
            ("**.a.test", false, ["x.a.test", "y.x.a.test"]),
            ("1.2.3.4", false, ["1.2.3.4"]),
            ("[::1]", false, ["::1"]),
            ("[::ffff:1.2.3.4]", false, ["1.2.3.4"]),
        ])
    func matches(text: String, includeSubdomains: Bool, expected: [String]) throws {
        let pattern = try HostPattern(text, includeSubdomains: includeSubdomains)
        let matched = try Self.hosts.filter { try pattern.matches(CanonicalHost($0)) }
        #expect(matched == expected)
    }

    @Test(
        "a pattern that is too wide or has its star elsewhere is refused",
        arguments: [
            "*", "**", "*.", "**.", "*.com", "**.com", "*.localhost", "*a.test", "a*.test", "a.*.test", "*.*.test", "***.a.test",
            "**.*.a.test", "*.1.2.3.4", "*.[::1]", "*.::1", "*.1", "", ".", "a..test", "a.test:443", "https://a.test", "*.a.test/",
            "%2A.a.test",
            "*. a.test",
        ])
    func refused(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern(text) }
    }

    @Test(
        "includeSubdomains is refused where nothing can be below, or everything",
        arguments: ["com", "localhost", "1.2.3.4", "::1", "*.a.test", "**.a.test"])
    func refusedSubdomains(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern(text, includeSubdomains: true) }
    }

    @Test("two spellings of one pattern are equal")
    func equality() throws {
        #expect(try HostPattern("*.A.test.") == HostPattern("*.a.test"))
        #expect(try HostPattern("*.a.test") != HostPattern("**.a.test"))
        #expect(try HostPattern("a.test") == HostPattern(CanonicalHost("a.test")))
    }
}
