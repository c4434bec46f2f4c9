import CertificatePinning
import Testing

@Suite("HostMap")
struct HostMapTests {
    private func map(_ patterns: [(String, Bool)]) throws -> HostMap<String> {
        try HostMap(
            patterns.map { text, includeSubdomains in
                (try HostPattern(text, includeSubdomains: includeSubdomains), includeSubdomains ? "+" + text : text)
            })
    }

    @Test(
        "The most specific pattern decides",
        arguments: [
            ("a.test", "a.test"), ("x.a.test", "x.a.test"), ("z.a.test", "*.a.test"), ("y.x.a.test", "**.x.a.test"),
            ("z.z.a.test", "**.a.test"), ("b.test", "+b.test"), ("z.b.test", "+b.test"), ("z.z.b.test", "+b.test"),
            ("deep.b.test", "deep.b.test"), ("z.deep.b.test", "*.deep.b.test"), ("z.z.deep.b.test", "+b.test"), ("1.2.3.4", "1.2.3.4"),
        ])
    func mostSpecific(host: String, expected: String) throws {
        let map = try map([
            ("**.a.test", false), ("*.a.test", false), ("a.test", false), ("x.a.test", false), ("**.x.a.test", false), ("b.test", true),
            ("deep.b.test", false), ("*.deep.b.test", false), ("1.2.3.4", false),
        ])
        #expect(try map.value(for: CanonicalHost(host)) == expected)
        #expect(map.count == 9)
    }

    @Test(
        "A host without a pattern has no value", arguments: ["evila.test", "test", "a.test.evil", "a.test", "x.y.a.test", "4.3.2.1", "::1"])
    func unmatched(host: String) throws {
        #expect(try map([("*.a.test", false), ("1.2.3.4", false)]).value(for: CanonicalHost(host)) == nil)
    }

    @Test(
        "Patterns that claim the same hosts are rejected, in either order",
        arguments: [
            ("a.test", false, "A.test.", false), ("a.test", true, "a.test", false), ("a.test", true, "**.a.test", false),
            ("*.a.test", false, "*.a.test", false), ("**.a.test", false, "**.a.test", false), ("[::ffff:1.2.3.4]", false, "1.2.3.4", false),
        ])
    func duplicates(first: String, firstBelow: Bool, second: String, secondBelow: Bool) {
        expectPinningError(.duplicatePattern) { try map([(first, firstBelow), (second, secondBelow)]) }
        expectPinningError(.duplicatePattern) { try map([(second, secondBelow), (first, firstBelow)]) }
    }

    @Test("An empty map has no value for any host")
    func empty() throws {
        #expect(try HostMap<Int>([]).value(for: CanonicalHost("a.test")) == nil)
        #expect(try HostMap<Int>([]).count == 0)
    }

    @Test("A host has a value if and only if a pattern matches it, and the value is that of a matching pattern")
    func agreesWithPatterns() throws {
        let labels = ["a", "b", "c"]
        let names = labels.flatMap { x in labels.flatMap { y in labels.map { "\($0).\(y).\(x).test" } + ["\(y).\(x).test"] } }
        let patterns = try ["*.a.test", "**.b.test", "c.a.test", "*.c.b.test"].map { try HostPattern($0) }
        let map = try HostMap(patterns.map { ($0, $0.description) })
        for name in names {
            let host = try CanonicalHost(name)
            let found = map.value(for: host)
            let matching = patterns.filter { $0.matches(host) }.map(\.description)
            #expect(found.map { matching.contains($0) } ?? matching.isEmpty)
        }
    }

    @Test("A pattern does not apply below a public suffix, but hosts there can have their own pattern")
    func suffixesBelow() throws {
        let map = try map([("amazonaws.com", true), ("*.mine.s3.amazonaws.com", false), ("*.demo.localhost", false)])
        let expected = [
            "evil.s3.amazonaws.com": nil, "s3.amazonaws.com": nil, "mine.s3.amazonaws.com": nil, "amazonaws.com": "+amazonaws.com",
            "x.mine.s3.amazonaws.com": "*.mine.s3.amazonaws.com", "x.y.amazonaws.com": "+amazonaws.com",
            "x.demo.localhost": "*.demo.localhost",
        ]
        for (host, value) in expected { #expect(try map.value(for: CanonicalHost(host)) == value, "\(host)") }
        #expect(try self.map([("*.amazonaws.com", false)]).value(for: CanonicalHost("s3.amazonaws.com")) == nil)
    }

    @Test("If the most specific pattern excludes a host, the next wider pattern decides, if there is one")
    func exclusions() throws {
        let map = try HostMap([
            (HostPattern("**.test.org"), 1), (HostPattern("a.test.org", includeSubdomains: true, excluding: ["open.a.test.org"]), 2),
            (HostPattern("**.b.org", excluding: ["open.b.org"]), 3), (HostPattern("x.open.b.org"), 4),
        ])
        let expected = [
            "a.test.org": 2, "x.a.test.org": 2, "open.a.test.org": 1, "x.open.a.test.org": 1, "x.b.org": 3, "open.b.org": nil,
            "y.open.b.org": nil, "x.open.b.org": 4,
        ]
        for (host, value) in expected { #expect(try map.value(for: CanonicalHost(host)) == value, "\(host)") }
    }
}
