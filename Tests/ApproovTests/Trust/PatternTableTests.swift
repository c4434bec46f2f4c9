import CertificatePinning
import Testing

@testable import Approov

@Suite struct PatternTableTests {
    @Test("The patterns around a pattern are those that cover all its hosts, the most specific first")
    func around() {
        #expect(
            PatternTable<Int>.patterns(around: "a.b.test") == ["a.b.test", "*.b.test", "**.b.test", "**.test"])
        #expect(PatternTable<Int>.patterns(around: "*.b.test") == ["*.b.test", "**.b.test", "**.test"])
        #expect(PatternTable<Int>.patterns(around: "**.b.test") == ["**.b.test", "**.test"])
        #expect(PatternTable<Int>.patterns(around: "localhost") == ["localhost"])
    }

    @Test("A pattern does not cover names below a public suffix inside it")
    func suffixesBelow() {
        #expect(
            PatternTable<Int>.patterns(around: "a.s3.amazonaws.com") == ["a.s3.amazonaws.com", "*.s3.amazonaws.com", "**.s3.amazonaws.com"])
        #expect(PatternTable<Int>.patterns(around: "s3.amazonaws.com") == ["s3.amazonaws.com"])
        #expect(
            PatternTable<Int>.patterns(around: "*.a.amazonaws.com") == [
                "*.a.amazonaws.com", "**.a.amazonaws.com", "**.amazonaws.com", "**.com",
            ])
        #expect(
            PatternTable<Int>.patterns(around: "s3.amazonaws.com", crossesPublicSuffixes: true) == [
                "s3.amazonaws.com", "*.amazonaws.com", "**.amazonaws.com", "**.com",
            ])
    }

    @Test("Every pattern around another one matches all its hosts, and no other pattern does")
    func agreesWithMatching() throws {
        let hosts = try [
            "b.test", "a.b.test", "x.a.b.test", "y.x.a.b.test", "z.test.org", "a.c.test", "amazonaws.com", "s3.amazonaws.com",
            "a.s3.amazonaws.com",
        ]
        .map { try CanonicalHost($0) }
        let texts =
            ["b.test", "*.b.test", "**.b.test", "a.b.test", "*.a.b.test", "**.a.b.test", "x.a.b.test", "**.c.test"]
            + ["**.amazonaws.com", "*.amazonaws.com", "s3.amazonaws.com", "a.s3.amazonaws.com", "**.a.s3.amazonaws.com"]
        for text in texts {
            let inner = try HostPattern(text)
            let within = hosts.filter(inner.matches)
            let around = PatternTable<Int>.patterns(around: text)
            for other in texts {
                let outer = try HostPattern(other)
                if around.contains(other) {
                    #expect(within.allSatisfy(outer.matches), "\(other) around \(text)")
                } else {
                    // Two patterns nest or are disjoint: a pattern that is not around another matches none of its hosts, or lies within it.
                    let shared = within.filter(outer.matches)
                    #expect(shared.isEmpty || PatternTable<Int>.patterns(around: other).contains(text), "\(other) beside \(text)")
                }
            }
        }
    }
}
