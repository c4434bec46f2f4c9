import CertificatePinning
import Testing

/// Covers C18 of the list of traps.
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

    @Test(
        "a pattern that covers a public suffix is refused, of the list's ICANN section and of its private one",
        arguments: ["*.co.uk", "**.co.uk", "*.github.io", "**.s3.amazonaws.com", "*.anything.ck", "*.xn--p1ai", "*.CO.UK."])
    func publicSuffixes(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern(text) }
    }

    @Test("includeSubdomains on a public suffix is refused, and the suffix alone is a host like any other")
    func publicSuffixSubdomains() throws {
        expectPinningError(.malformedPattern) { try HostPattern("github.io", includeSubdomains: true) }
        #expect(try HostPattern("github.io").matches(CanonicalHost("github.io")))
    }

    @Test(
        "registered names below a suffix, and names that the list does not know, may be patterns",
        arguments: ["*.example.co.uk", "**.me.github.io", "*.demo.localhost", "**.corp.internal", "*.www.ck", "*.a.test"])
    func ownDomains(text: String) throws {
        _ = try HostPattern(text)
    }

    @Test(
        "public suffixes below the base, and the hosts below those, are not meant",
        arguments: ["**.amazonaws.com", "*.amazonaws.com", "amazonaws.com and below"])
    func suffixesBelow(text: String) throws {
        let includeSubdomains = text.hasSuffix(" and below")
        let pattern = try HostPattern(
            text.replacing(" and below", with: ""), includeSubdomains: includeSubdomains)
        for host in [
            "evil.s3.amazonaws.com", "s3.amazonaws.com", "a.b.s3.amazonaws.com", "evil.amazonaws.com.evil.test",
        ] {
            #expect(try !pattern.matches(CanonicalHost(host)), "\(host)")
        }
        #expect(try pattern.matches(CanonicalHost("console.amazonaws.com")))
        #expect(try pattern.matches(CanonicalHost("a.console.amazonaws.com")) == !text.hasPrefix("*."))
        #expect(try pattern.matches(CanonicalHost("amazonaws.com")) == includeSubdomains)
    }

    @Test(
        "names that the list does not know match below any base",
        arguments: [
            ("**.demo.localhost", "x.y.demo.localhost"), ("*.corp.internal", "db.corp.internal"), ("**.me.github.io", "a.b.me.github.io"),
        ])
    func unknownNames(text: String, host: String) throws {
        #expect(try HostPattern(text).matches(CanonicalHost(host)))
    }

    @Test("a pattern that was checked when it was written may cover a public suffix, of two labels or more")
    func allowedSuffix() throws {
        let pattern = try HostPattern("**.github.io", allowingPublicSuffix: true)
        #expect(try pattern.matches(CanonicalHost("me.github.io")))
        for text in ["*.com", "**.localhost", "*.1.2.3.4", "*"] {
            expectPinningError(.malformedPattern) { try HostPattern(text, allowingPublicSuffix: true) }
        }
    }

    @Test("names of one label are hosts", arguments: ["localhost", "intranet", "db1"])
    func singleLabels(text: String) throws {
        #expect(try HostPattern(text).matches(CanonicalHost(text)))
    }

    @Test("an excluded name is not matched, nor any name below it, and all others are")
    func exclusions() throws {
        let pattern = try HostPattern("a.test", includeSubdomains: true, excluding: ["X.a.test."])
        let matched = try Self.hosts.filter { try pattern.matches(CanonicalHost($0)) }
        #expect(matched == ["a.test"])
        #expect(try pattern.matches(CanonicalHost("xx.a.test")))
        #expect(pattern.description == "a.test and below without x.a.test")
        #expect(try pattern != HostPattern("a.test", includeSubdomains: true))
    }

    @Test(
        "an exclusion that is not below the pattern is refused", arguments: ["a.test", "b.test", "evila.test", "", "1.2.3.4", "*.a.test"])
    func wrongExclusions(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern("**.a.test", excluding: [text]) }
        expectPinningError(.malformedPattern) { try HostPattern("x.a.test", excluding: ["y.x.a.test"]) }
    }

    @Test("two spellings of one pattern are equal")
    func equality() throws {
        #expect(try HostPattern("*.A.test.") == HostPattern("*.a.test"))
        #expect(try HostPattern("*.a.test") != HostPattern("**.a.test"))
        #expect(try HostPattern("a.test") == HostPattern(CanonicalHost("a.test")))
    }
}
