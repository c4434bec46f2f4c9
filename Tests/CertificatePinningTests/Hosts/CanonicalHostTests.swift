import CertificatePinning
import Testing

@Suite("CanonicalHost")
struct CanonicalHostTests {
    @Test(
        "All spellings of a name are the same host",
        arguments: ["good.test", "GOOD.test", "good.test.", "Good.TEST.", "gOOD.Test"])
    func namesAreOne(spelling: String) throws {
        let host = try CanonicalHost(spelling)
        #expect(host.name == "good.test")
        #expect(host.kind == .name)
        #expect(try host == CanonicalHost("good.test"))
        #expect(try Set([host, CanonicalHost("good.test")]).count == 1)
    }

    @Test(
        "All accepted spellings of an address are the same host",
        arguments: [
            ("127.0.0.1", "127.0.0.1", CanonicalHost.Kind.ipv4), ("127.0.0.1.", "127.0.0.1", .ipv4),
            ("[::ffff:127.0.0.1]", "127.0.0.1", .ipv4), ("[::FFFF:7f00:1]", "127.0.0.1", .ipv4),
            ("[0:0:0:0:0:ffff:7f00:0001]", "127.0.0.1", .ipv4), ("::ffff:10.0.0.255", "10.0.0.255", .ipv4),
            ("[::1]", "::1", .ipv6), ("::1", "::1", .ipv6), ("[0:0:0:0:0:0:0:1]", "::1", .ipv6),
            ("[2001:DB8::0:1]", "2001:db8::1", .ipv6), ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1", .ipv6),
            ("0.0.0.0", "0.0.0.0", .ipv4), ("255.255.255.255", "255.255.255.255", .ipv4),
        ])
    func addresses(spelling: String, name: String, kind: CanonicalHost.Kind) throws {
        let host = try CanonicalHost(spelling)
        #expect(host.name == name)
        #expect(host.kind == kind)
    }

    @Test(
        "Text that two parsers could read as different hosts is rejected",
        arguments: [
            // percent signs, user info, ports, paths and their look-alikes
            "g%6Fod.test", "good.test%00.evil.test", "[fe80::1%25eth0]", "fe80::1%eth0", "other@good.test", "user:pass@good.test",
            "good.test:443", "good.test/", "good.test\\evil.test", "good.test?x", "good.test#x", "http://good.test",
            // white space and control characters
            " good.test", "good.test ", "good\t.test", "good.test\n", "good.test\r\nHost: evil", "good\u{0}.test", "good\u{7F}.test",
            // beyond ASCII: full width, dots of other scripts, soft hyphen, zero width, the Kelvin sign
            "ｇｏｏｄ.test", "good。test", "good．test", "go\u{AD}od.test", "go\u{200B}od.test", "\u{212A}.test", "münchen.test",
            "１２７.0.0.1",
            // numbers that are not dotted quads, but that inet_aton would read as an address
            "2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "127.0.0.0x1", "0x7f.0.0.1",
            "127.0.0.256", "1.2.3.4.5", "127.0.0.1..", "017700000001", "0X7F.1", "a.1", "a.0x", "a.0xG.0x1", "00000000000000.0.0.1",
            "4294967296", "a.0x10.", "1", "0", "999999999999999999999999",
            // labels and dots
            "", ".", "..", ".good.test", "good..test", "good.test..", "-good.test", "good-.test", "a.-.test", "*.good.test",
            // malformed IPv6
            "[", "]", "[]", "[::1", "::1]", "[127.0.0.1]", "[::1].", "[::1]:443", "[[::1]]", "[:::1]", "[1:2:3:4:5:6:7:8:9]", "[good.test]",
            "[12345::]", "[::ffff:127.1]", "[::ffff:0x7f.0.0.1]", "[::ffff:127.0.0.01]",
            // other characters that are not allowed in a name
            "good,test", "good;test", "good'test", "good\"test", "good!test", "a b", "~", "$(x)", "`x`", "a+b.test",
        ])
    func refused(text: String) {
        expectPinningError(.malformedHost) { try CanonicalHost(text) }
    }

    @Test(
        "Names with underscores, digits and inner hyphens are accepted",
        arguments: ["_dmarc.good.test", "a--b.test", "1.2.3.x", "0x.test", "0x7f.1.test", "xn--mnchen-3ya.test", "123abc", "a.0xg"])
    func accepted(name: String) throws {
        #expect(try CanonicalHost(name).name == name)
        #expect(try CanonicalHost(name).kind == .name)
    }

    @Test("A label has at most 63 characters, and a name has at most 253")
    func lengths() throws {
        let label = String(repeating: "a", count: 63)
        #expect(try CanonicalHost(label + ".test").name == label + ".test")
        expectPinningError(.malformedHost) { try CanonicalHost(label + "a.test") }
        let name = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(name.count == 253)
        #expect(try CanonicalHost(name + ".").name == name)
        #expect(try CanonicalHost(name.uppercased()).name == name)
        expectPinningError(.malformedHost) { try CanonicalHost("b" + name) }
        expectPinningError(.malformedHost) { try CanonicalHost(String(repeating: "a.", count: 100_000)) }
    }

    @Test("A canonical form is its own canonical form", arguments: ["GOOD.test.", "[2001:DB8::1]", "[::ffff:1.2.3.4]", "1.2.3.4"])
    func idempotent(text: String) throws {
        let host = try CanonicalHost(text)
        #expect(try CanonicalHost(host.name) == host)
        #expect(try CanonicalHost(host.urlText) == host)
    }

    @Test("Only an IPv6 address has brackets in a URL")
    func urlText() throws {
        #expect(try CanonicalHost("::1").urlText == "[::1]")
        #expect(try CanonicalHost("127.0.0.1").urlText == "127.0.0.1")
        #expect(try CanonicalHost("good.test").urlText == "good.test")
    }

    @Test(
        "Loopback hosts are 127.0.0.0/8, ::1, localhost and the names below it",
        arguments: ["127.0.0.1", "127.255.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST.", "api.demo.localhost"])
    func loopback(text: String) throws {
        #expect(try CanonicalHost(text).isLoopback)
    }

    @Test(
        "Hosts that only look like loopback are not loopback",
        arguments: ["127.good.test", "127.0.0.1.good.test", "localhost.good.test", "notlocalhost", "128.0.0.1", "[::2]", "0.0.0.0", "[::]"])
    func notLoopback(text: String) throws {
        #expect(try !CanonicalHost(text).isLoopback)
    }

    @Test("No text of three unusual bytes crashes the parser, and every accepted host is canonical")
    func exhaustive() throws {
        let alphabet = [UInt8]("aZ09x.-_:[]%@\\/ \n\u{0}*".utf8) + [0x80, 0xC3, 0xFF]
        for first in alphabet {
            for second in alphabet {
                for third in alphabet {
                    let text = String(decoding: [first, second, third], as: UTF8.self)
                    guard let host = try? CanonicalHost(text) else { continue }
                    #expect(host.name == host.name.lowercased() && !host.name.hasSuffix("."))
                    #expect(try CanonicalHost(host.name) == host)
                }
            }
        }
    }
}
