import CertificatePinning
import Testing

@Suite("HostPattern")
struct HostPatternTests {
    private static let hosts = ["a.test", "x.a.test", "y.x.a.test", "evila.test", "a.test.evil.test", "test", "1.2.3.4", "::1"]

    @Test(
        "A pattern matches exactly the hosts that it describes",
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
        "A pattern that is malformed, too wide or has a misplaced star is rejected",
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
        "includeSubdomains is rejected for names of one label, addresses and patterns with a star",
        arguments: ["com", "localhost", "1.2.3.4", "::1", "*.a.test", "**.a.test"])
    func refusedSubdomains(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern(text, includeSubdomains: true) }
    }

    @Test(
        "A pattern that covers a public suffix is rejected, whether the suffix is an ICANN or a private one",
        arguments: ["*.co.uk", "**.co.uk", "*.github.io", "**.s3.amazonaws.com", "*.anything.ck", "*.xn--p1ai", "*.CO.UK."])
    func publicSuffixes(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern(text) }
    }

    @Test("includeSubdomains is rejected for a public suffix, but the suffix itself can be a host")
    func publicSuffixSubdomains() throws {
        expectPinningError(.malformedPattern) { try HostPattern("github.io", includeSubdomains: true) }
        #expect(try HostPattern("github.io").matches(CanonicalHost("github.io")))
    }

    @Test(
        "Domains below a public suffix, and domains that the list does not contain, are allowed in patterns",
        arguments: ["*.example.co.uk", "**.me.github.io", "*.demo.localhost", "**.corp.internal", "*.www.ck", "*.a.test"])
    func ownDomains(text: String) throws {
        _ = try HostPattern(text)
    }

    @Test(
        "A pattern does not match public suffixes below its base, nor the hosts below those suffixes",
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
        "A pattern matches names below its base that the public suffix list does not contain",
        arguments: [
            ("**.demo.localhost", "x.y.demo.localhost"), ("*.corp.internal", "db.corp.internal"), ("**.me.github.io", "a.b.me.github.io"),
        ])
    func unknownNames(text: String, host: String) throws {
        #expect(try HostPattern(text).matches(CanonicalHost(host)))
    }

    @Test("With allowingPublicSuffix, a pattern may cover a suffix of two labels or more, but not of one")
    func allowedSuffix() throws {
        let pattern = try HostPattern("**.github.io", allowingPublicSuffix: true)
        #expect(try pattern.matches(CanonicalHost("me.github.io")))
        for text in ["*.com", "**.localhost", "*.1.2.3.4", "*"] {
            expectPinningError(.malformedPattern) { try HostPattern(text, allowingPublicSuffix: true) }
        }
    }

    @Test("The error for a URL in the place of a pattern has neither user nor password")
    func userInformation() throws {
        let error = #expect(throws: PinningError.self) { try HostPattern("https://bob:secret@api.example.com") }
        let text = String(describing: try #require(error))
        #expect(text.contains("https://...@api.example.com") && !text.contains("bob") && !text.contains("secret"), "\(text)")
    }

    @Test("A name of one label can be a host", arguments: ["localhost", "intranet", "db1"])
    func singleLabels(text: String) throws {
        #expect(try HostPattern(text).matches(CanonicalHost(text)))
    }

    @Test("A pattern does not match an excluded name or names below it, and matches all others")
    func exclusions() throws {
        let pattern = try HostPattern("a.test", includeSubdomains: true, excluding: ["X.a.test."])
        let matched = try Self.hosts.filter { try pattern.matches(CanonicalHost($0)) }
        #expect(matched == ["a.test"])
        #expect(try pattern.matches(CanonicalHost("xx.a.test")))
        #expect(pattern.description == "a.test and below without x.a.test")
        #expect(try pattern != HostPattern("a.test", includeSubdomains: true))
    }

    @Test(
        "An exclusion that is not below the pattern is rejected", arguments: ["a.test", "b.test", "evila.test", "", "1.2.3.4", "*.a.test"])
    func wrongExclusions(text: String) {
        expectPinningError(.malformedPattern) { try HostPattern("**.a.test", excluding: [text]) }
        expectPinningError(.malformedPattern) { try HostPattern("x.a.test", excluding: ["y.x.a.test"]) }
    }

    @Test("Two spellings of one pattern are equal")
    func equality() throws {
        #expect(try HostPattern("*.A.test.") == HostPattern("*.a.test"))
        #expect(try HostPattern("*.a.test") != HostPattern("**.a.test"))
        #expect(try HostPattern("a.test") == HostPattern(CanonicalHost("a.test")))
    }
}
