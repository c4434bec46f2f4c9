import ApproovTesting
import Foundation
import HTTPClient
import Testing

@testable import Approov

@Suite struct URLGlobTests {
    private func matches(_ glob: String, _ url: String) throws -> Bool { try URLGlob(glob).matches(try #require(URL(string: url))) }

    @Test("Wildcards stand for characters of a segment, and ** for segments")
    func wildcards() throws {
        for (glob, matching, others) in [
            ("/a", ["/a", "/a?b=/c"], ["/", "/a/", "/ab", "/A", "/b"]),
            ("/", ["/", "", "?q"], ["/a"]),
            ("/a/*", ["/a/", "/a/b", "/a/*"], ["/a", "/a/b/", "/a/b/c"]),
            ("/a/**", ["/a/", "/a/b", "/a/b/c/d", "/a//"], ["/a", "/ab/c", "/b/a/c"]),
            ("/**", ["/", "/a", "/a/b"], []),
            ("/a/**/b", ["/a/b", "/a/x/b", "/a/x/y/b", "/a/b/b"], ["/a/bb", "/ab", "/a/x/b/c", "/a/xb"]),
            ("/**/x/**/y", ["/x/y", "/1/x/2/x/3/y", "/x/y/y"], ["/x", "/y/x", "/x/y/z"]),
            ("/v?/*.json", ["/v1/a.json", "/v2/.json", "/v1/a.json.json"], ["/v/a.json", "/v12/a.json", "/v1/a.jso", "/v1/a/b.json"]),
            ("/*a*b*", ["/ab", "/xaybz", "/aab", "/abab"], ["/ba", "/a", "/a/b"]),
            ("/%7Eme/*", ["/%7Eme/x"], ["/~me/x"]),
        ] as [(String, [String], [String])] {
            for path in matching { #expect(try matches("https://api.test" + glob, "https://api.test" + path), "\(glob) \(path)") }
            for path in others { #expect(try !matches("https://api.test" + glob, "https://api.test" + path), "\(glob) \(path)") }
        }
    }

    @Test("Scheme, host and port must match in their canonical form")
    func origins() throws {
        let glob = "https://API.test./public/**"
        for url in ["https://api.test/public/x", "https://API.TEST./public/x", "HTTPS://api.test:443/public/x"] {
            #expect(try matches(glob, url), "\(url)")
        }
        for url in [
            "http://api.test/public/x", "https://api.test:8443/public/x", "https://api.test.evil/public/x", "https://other.test/public/x",
            "https://evil.test/https://api.test/public/x", "https://evil.test?https://api.test/public/x", "file:///public/x",
            "https://user@api.test/public/x",
        ] {
            #expect(try !matches(glob, url), "\(url)")
        }
        #expect(try matches("https://api.test:8443/*", "https://api.test:8443/x"))
        #expect(try matches("https://*.example.com/*", "https://a.example.com/x"))
        #expect(try !matches("https://*.example.com/*", "https://example.com/x"))
        #expect(try !matches("https://*.example.com/*", "https://a.b.example.com/x"))
        #expect(try matches("https://[::1]:8443/*", "https://[::1]:8443/x"))
    }

    @Test("A path that servers may read in two ways matches nothing, so that its request gets a token")
    func ambiguous() throws {
        let glob = try URLGlob("https://api.test/public/**")
        for path in [
            "/public/../secure", "/public/./x", "/public/%2e%2e/secure", "/public/.%2E/secure", "/public/%2E", "/public/a%2fb",
            "/public/..%2Fsecure", "/public/a%5Cb",
        ] {
            #expect(try !glob.matches(TransportURL("https://api.test" + path)), "\(path)")
        }
        for path in ["/public/...", "/public/.well-known", "/public/a..b", "/public/%2e%2e%2e", "/public/a%2e", "/public/x?/../y"] {
            #expect(try glob.matches(TransportURL("https://api.test" + path)), "\(path)")
        }
    }

    @Test("A path of more than 8,192 bytes matches nothing")
    func longPath() throws {
        let glob = try URLGlob("https://api.test/**")
        let path = "/" + String(repeating: "a", count: URLGlob.maximumPathBytes - 1)
        #expect(try glob.matches(TransportURL("https://api.test" + path)))
        #expect(try !glob.matches(TransportURL("https://api.test" + path + "a")))
        #expect(try glob.matches(TransportURL("https://api.test" + path + "?" + path)))
    }

    /// Compares byte by byte with every alternative.
    private func naive(_ pattern: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        switch first {
        case UInt8(ascii: "*"):
            return naive(pattern.dropFirst(), path)
                || (path.first.map { $0 != UInt8(ascii: "/") } ?? false) && naive(pattern, path.dropFirst())
        case UInt8(ascii: "?"): return !path.isEmpty && path.first != UInt8(ascii: "/") && naive(pattern.dropFirst(), path.dropFirst())
        default: return path.first == first && naive(pattern.dropFirst(), path.dropFirst())
        }
    }

    @Test("Ten thousand random patterns of single wildcards agree with a search of all alternatives")
    func random() throws {
        var generator = SeededGenerator(seed: 13)
        func text(_ alphabet: [String]) -> String {
            (0..<Int.random(in: 0...8, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? "" }.joined()
        }
        for _ in 0..<10_000 {
            let pattern = "/" + text(["a", "b", "/", "*", "?"]).replacing(/\*+/, with: "*")
            let path = "/" + text(["a", "b", "/"])
            let expected = naive(Array(pattern.utf8)[...], Array(path.utf8)[...])
            #expect(try URLGlob("https://h" + pattern).matches(TransportURL("https://h" + path)) == expected, "\(pattern) \(path)")
        }
    }

    @Test("A long path with many wildcards that almost match is answered within the product of the lengths")
    func manyWildcards() throws {
        let stars = String(repeating: "*a", count: 15)
        let path = "/" + String(repeating: "a", count: 8_000)
        #expect(try !matches("https://api.test/\(stars)b", "https://api.test" + path))
        let segments = String(repeating: "**/a/", count: 8)
        let deep = String(repeating: "/a", count: 4_000)
        #expect(try !matches("https://api.test/\(segments)b", "https://api.test" + deep))
    }

    @Test("A malformed pattern is refused with the reason")
    func malformed() throws {
        for (text, reason) in [
            ("", "must begin"), ("api.test/x", "must begin"), ("http://api.test/x", "must begin"), ("https://api.test", "must begin"),
            ("https:///x", "host"), ("https://api.test:0/x", "port"), ("https://api.test:x/x", "port"), ("https://*/x", "host"),
            ("https://*.com/x", "host"), ("https://a*.test/x", "host"), ("https://user@api.test/x", "host"),
            ("https://api.test/a**", "whole segment"), ("https://api.test/***", "whole segment"), ("https://api.test/a/../b", "dot"),
            ("https://api.test/a/%2e%2E/b", "dot"), ("https://api.test/a%2fb", "dot"), ("https://api.test/a b", "space"),
            ("https://api.test/ü", "non-ASCII"), ("https://api.test/a#b", "fragment"), ("https://api.test/a\\b", "backslash"),
            ("https://api.test/" + String(repeating: "?", count: 17), "wildcards"),
            ("https://api.test/" + String(repeating: "a", count: 1_024), "bytes"),
        ] {
            let error = try #require(throws: ApproovError.self, "\(text)") { try URLGlob(text) }
            #expect(error.code == .initializationError && "\(error)".contains(reason), "\(text): \(error)")
        }
    }

    @Test("A pattern below a base URL has its scheme, host, port and path, with or without a slash at the beginning")
    func relative() throws {
        for base in ["http://localhost:8080/v1", "http://localhost:8080/v1/"] {
            for text in ["items/*", "/items/*"] {
                let glob = try URLGlob(text, relativeTo: try #require(URL(string: base)))
                for (url, expected) in [
                    ("http://localhost:8080/v1/items/7", true), ("https://localhost:8080/v1/items/7", false),
                    ("http://localhost/v1/items/7", false),
                    ("http://localhost:8080/items/7", false), ("http://other:8080/v1/items/7", false),
                ] {
                    #expect(glob.matches(try #require(URL(string: url))) == expected, "\(url)")
                }
            }
        }
        let base = try #require(URL(string: "http://localhost"))
        #expect(try URLGlob("https://api.test/*", relativeTo: base).matches(try #require(URL(string: "https://api.test/x"))))
        for base in ["http://localhost/*", "http://localhost/?x", "items", "ftp://localhost/", "http://localhost/a/../b"] {
            let base = try #require(URL(string: base))
            #expect(code(as: ApproovError.self) { try URLGlob("items", relativeTo: base) } == .initializationError)
        }
    }

    @Test("A pattern covers a path in every spelling that a server may read as one that matches")
    func covers() throws {
        let glob = try URLGlob("https://api.test/secure/**")
        for path in [
            "/secure/x", "/a/../secure/x", "/%2e%2E/secure/", "/secure/.", "/./secure/a/..", "/%73ecure/x", "/secure%2fx",
            "/a%5C..%2fsecure%5cx", "/a/..;/secure/x", "/a/..;b=1/secure/x", "/a/..%3Bb/secure/x", "/.;/secure/x",
            "/secure/" + String(repeating: "a/", count: 10_000), "//secure/x", "/secure//x", "/%2Fsecure/x", "/a//../secure/x",
            "//secure//../x", "/secure;v=1/x", "/secure%3bv=1/x", "/;a/secure/x", "//secure;v=1/x;w", "/a/;b/../secure;c/x",
        ] {
            #expect(glob.covers(try TransportURL("https://api.test" + path)), "\(path)")
        }
        for path in [
            "/secure/../x", "/secure/..", "/secure/%2e%2e/x", "/x/secure/y", "/secure", "/%2573ecure/x", "/%53ecure/x", "/a/..x;/secure/x",
            "//secure", "/secure;v=1", "/x;/secure/y", "/x//secure/y", "//secure/../x", "/secur;e/x",
        ] {
            #expect(!glob.covers(try TransportURL("https://api.test" + path)), "\(path)")
        }
        let encoded = try URLGlob("https://api.test/%c3%a4/%7Eme/*")
        for path in ["/%C3%A4/~me/x", "/%c3%A4/%7eme/x"] { #expect(encoded.covers(try TransportURL("https://api.test" + path)), "\(path)") }
    }
}
