import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct SessionCookiesTests {
    private let configuration = URLSessionConfiguration.ephemeral

    /// Stores the cookies of a response, and returns the names of those that the storage then has.
    private func names(after cookies: [String], from text: String = "https://api.test/") throws -> Set<String> {
        let url = try #require(URL(string: text))
        var fields = HTTPFields()
        for cookie in cookies { fields.append(HTTPField(name: .setCookie, value: cookie)) }
        let response = TransportResponse(status: 200, headerFields: fields, url: try TransportURL(url.absoluteString))
        try #require(SessionCookies(configuration)).store(from: response, to: url)
        return Set((configuration.httpCookieStorage?.cookies ?? []).map(\.name))
    }

    /// The header Cookie of a request.
    private func sent(to text: String) throws -> String? {
        try #require(SessionCookies(configuration)).header(for: #require(URL(string: text)))
    }

    @Test("Of a response the first fifty cookies are taken, and of a domain the newest fifty are kept")
    func counts() throws {
        let first = try names(after: (0..<60).map { "a\($0)=1; Path=/" })
        #expect(first == Set((0..<50).map { "a\($0)" }))
        let then = try names(after: (0..<20).map { "b\($0)=1; Path=/" })
        #expect(then.count == 50 && then.isSuperset(of: (0..<20).map { "b\($0)" }))
    }

    @Test("Cookies that the server has ended give way first")
    func expired() throws {
        _ = try names(after: ["session=1; Path=/"])
        for number in 0..<60 { _ = try names(after: ["state\(number)=1; Path=/", "state\(number)=; Path=/; Max-Age=0"]) }
        #expect(try names(after: ["last=1; Path=/"]).isSuperset(of: ["session", "last"]))
    }

    @Test("A cookie of more than 4,096 bytes is ignored")
    func size() throws {
        let value = String(repeating: "x", count: 4_095)
        #expect(try names(after: ["a=\(value)", "b=\(value)x"]) == ["a"])
    }

    @Test("A line without a name or a value, or with a name or an attribute that is not ASCII, is ignored")
    func malformed() throws {
        let lines = [
            "\u{1F600}=", "\u{1F600}=1", "a=b; Path=/\u{1F600}", "a\u{301}=b", "", ";", "=", "=b", "a", "a; b=c",
        ]
        for line in lines { #expect(try names(after: [line]).isEmpty, "\(line)") }
        #expect(try names(after: lines + ["good=1"]) == ["good"])
    }

    @Test("A value with any text, and unknown attributes, are no fault")
    func unusual() throws {
        let lines = [
            "a=J\u{FC}rgen; Path=/", "b=\u{301}x;\u{301}=1; Secure", "c=1; Comment=a=b, c=d; Secure",
            "d=1; \u{1F600}=; e\u{301}\u{301}=; SECURE", "e=", "f=1; Path=x", "g=1; Max-Age=60; Version=1; Port=\"80\"; Discard",
        ]
        #expect(try names(after: lines) == ["a", "b", "c", "d", "e", "f", "g"])
        let cookies = configuration.httpCookieStorage?.cookies ?? []
        #expect(Set(cookies.map { "\($0.name)=\($0.value)" }).isSuperset(of: ["a=J\u{FC}rgen", "b=\u{301}x", "e="]))
        #expect(Set(cookies.filter(\.isSecure).map(\.name)) == ["b", "c", "d"])
    }

    @Test("Attributes count in any letter case and with any value, the last one of a name does, and an empty domain is ignored")
    func attributes() throws {
        let lines = [
            "a=1; secure=; HTTPONLY=x", "b=1; Secure=false", "c=1; Domain=", "d=1; Path=/x; Path=/y", "e=1; Domain=.example.test; Domain=",
            "f=1; Domain=other.test", "g=J\u{FFFD}rgen", "h=1; Max-Age=x", "i=1; Max-Age=+0", "j=1; Max-Age=-1",
        ]
        #expect(try names(after: lines).isDisjoint(with: ["e", "f", "g"]))
        let cookies = Dictionary(uniqueKeysWithValues: (configuration.httpCookieStorage?.cookies ?? []).map { ($0.name, $0) })
        #expect(cookies["a"]?.isSecure == true && cookies["a"]?.isHTTPOnly == true && cookies["b"]?.isSecure == true)
        #expect(cookies["c"]?.domain == "api.test" && cookies["d"]?.path == "/y")
        #expect(try sent(to: "https://api.test/")?.components(separatedBy: "; ").filter { $0 > "h" } == ["h=1", "i=1"])
    }

    @Test("A cookie that Foundation's storage would take for another one replaces it only if it is for https, and the other is not")
    func mistaken() throws {
        _ = try names(after: ["session=1; Secure; Path=/"], from: "https://api.test/")
        for url in ["http://api.test/s", "https://api.test/s"] {
            #expect(try names(after: ["ession=2; Path=/s"], from: url) == ["session"])
        }
        #expect(configuration.httpCookieStorage?.cookies?.map(\.value) == ["1"])
        _ = try names(after: ["session=3; Secure; Path=/"])
        #expect(configuration.httpCookieStorage?.cookies?.map(\.value) == ["3"])
        // One that http planted first does not keep the user from logging in.
        _ = try names(after: ["session=; Path=/; Max-Age=0"])
        #expect(try names(after: ["ession=4; Path=/s"], from: "http://api.test/s") == ["ession"])
        #expect(try names(after: ["session=5; Secure; Path=/"]) == ["session"])
    }

    @Test("A cookie for https stays one when the storage is read from its file, which forgets Secure")
    func reread() throws {
        let storage = try #require(configuration.httpCookieStorage)
        _ = try names(after: ["a=1; Secure; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "__Secure-b=1; Secure"])
        #expect(try sent(to: "http://api.test/") == nil)
        for cookie in storage.cookies ?? [] {
            storage.deleteCookie(cookie)
            // As the storage writes it: Secure as a Boolean, which Foundation does not read.
            var properties = cookie.properties ?? [:]
            properties[.version] = "0"
            let reread = try #require(HTTPCookie(properties: properties))
            try #require(!reread.isSecure)
            storage.setCookie(reread)
        }
        // Set by another program that left no note, but of a name that only https may have.
        storage.setCookie(try #require(HTTPCookie(properties: [.name: "__Host-c", .value: "1", .domain: "api.test", .path: "/"])))
        #expect(try sent(to: "http://api.test/") == nil)
        #expect(try sent(to: "https://api.test/")?.components(separatedBy: "; ").sorted() == ["__Host-c=1", "__Secure-b=1", "a=1"])
        _ = try names(after: ["a=2", "__Host-c=2"], from: "http://api.test/")
        #expect(Set((storage.cookies ?? []).map(\.value)) == ["1"])
    }

    @Test("A dot at the end of a host opens no other domain, and changes no cookie's host")
    func trailingDot() throws {
        #expect(try names(after: ["a=1; Domain=co.uk.; Path=/", "b=1; Domain=evil.co.uk."], from: "https://evil.co.uk./").isEmpty)
        _ = try names(after: ["c=1; Domain=evil.co.uk", "d=1"], from: "https://WWW.evil.co.uk./")
        #expect(try sent(to: "https://www.evil.co.uk/")?.components(separatedBy: "; ").sorted() == ["c=1", "d=1"])
        #expect(try sent(to: "https://evil.co.uk./") == "c=1")
        let storage = try #require(configuration.httpCookieStorage)
        // What another program stored for the other spelling goes with the user, too.
        storage.setCookie(try #require(HTTPCookie(properties: [.name: "e", .value: "1", .domain: ".evil.co.uk.", .path: "/"])))
        try #require(SessionCookies(configuration)).clear([HostPattern("www.evil.co.uk")])
        #expect(storage.cookies?.isEmpty == true)
    }

    @Test(
        "A Domain that is the host itself counts, also for an address and for a host that is a public suffix",
        arguments: [
            ("http://localhost:8080/", "localhost"), ("https://api/", ".API"), ("https://[::1]/", "::1"), ("https://[FE80::1]/", "FE80::1"),
            ("https://127.0.0.1/", "127.0.0.1"),
            ("https://github.io/", "github.io"),
        ])
    func ownDomain(url: String, domain: String) throws {
        #expect(try names(after: ["sid=1; Domain=\(domain)"], from: url) == ["sid"])
        #expect(try sent(to: url) == "sid=1")
        #expect(configuration.httpCookieStorage?.cookies?.first?.domain.hasPrefix(".") == false)
    }

    @Test("Other hosts, parents of an address and public suffixes are no domain, and a cookie that ends there ends nothing")
    func otherDomains() throws {
        _ = try names(after: ["a=1; Domain=bank.test"], from: "https://www.bank.test/")
        let lines = ["a=; Domain=bank.test; Max-Age=0", "b=1; Domain=evil.test.other", "c=1; Domain=test", "d=1; Domain=www.evil.test"]
        #expect(try names(after: lines, from: "https://evil.test/") == ["a"])
        #expect(try names(after: ["e=1; Domain=0.0.1", "f=1; Domain=1"], from: "https://127.0.0.1/") == ["a"])
        #expect(try sent(to: "https://www.bank.test/") == "a=1")
    }

    @Test("A renewed cookie keeps its place before one that came in between")
    func order() throws {
        _ = try names(after: ["sid=1"], from: "https://api.test.example/")
        _ = try names(after: ["sid=evil; Domain=test.example"], from: "https://www.test.example/")
        _ = try names(after: ["sid=2"], from: "https://api.test.example/")
        #expect(try sent(to: "https://api.test.example/") == "sid=2; sid=evil")
    }

    @Test("Max-Age is a date that a file keeps, takes precedence over Expires, and may have any number of digits")
    func maximumAge() throws {
        let nines = String(repeating: "9", count: 400)
        let past = "Expires=Thu, 01 Jan 1970 00:00:00 GMT"
        _ = try names(after: ["a=1; Max-Age=2592000; \(past)", "b=1; Max-Age=\(nines); \(past)", "c=1", "d=1; Max-Age=0060"])
        let cookies = configuration.httpCookieStorage?.cookies ?? []
        #expect(Set(cookies.filter { $0.expiresDate != nil && !$0.isSessionOnly }.map(\.name)) == ["a", "b", "d"])
        #expect(try names(after: ["a=; Max-Age=-\(nines)", "b=; Max-Age=0", "d=; \(past)"]) == ["c"])
    }

    @Test("All domains together have at most 3,000 cookies, and those of https stay")
    func total() throws {
        _ = try names(after: ["first=1; Secure"], from: "https://api.test/")
        for host in 0..<61 { _ = try names(after: (0..<50).map { "a\($0)=1" }, from: "http://h\(host).test/") }
        #expect(configuration.httpCookieStorage?.cookies?.count == 3_000)
        #expect(try sent(to: "https://api.test/") == "first=1")
    }

    @Test("An attribute of more than 1,024 bytes is ignored, and the storage does not learn the query of the request")
    func attributeSize() throws {
        let long = "/" + String(repeating: "x", count: 1_024)
        _ = try names(after: ["a=1; Path=\(long)", "b=1; Path=\(long.dropLast())"], from: "https://api.test/?key=secret")
        let cookies = (configuration.httpCookieStorage?.cookies ?? []).sorted { $0.name < $1.name }
        #expect(cookies.map(\.path) == ["/", String(long.dropLast())])
        #expect(!"\(cookies.map { $0.properties ?? [:] })".contains("secret"))
    }

    @Test("A cookie of http neither hides nor removes one of https, unless that has ended")
    func httpAfterHTTPS() throws {
        let http = "http://api.test.example/"
        _ = try names(
            after: ["a=1; Secure; Domain=test.example", "b=1; Secure", "c=1; Secure; Path=/c", "d=1; Secure; Max-Age=0"],
            from: "https://api.test.example/")
        _ = try names(after: ["a=2; Path=/v1", "b=2; Domain=test.example; Path=/v1", "c=2; Path=/c/d", "c=3", "d=2"], from: http)
        for name in ["x", "y"] { _ = try names(after: (0..<60).map { "\(name)\($0)=1" }, from: http) }
        let cookies = configuration.httpCookieStorage?.cookies ?? []
        #expect(Set(cookies.filter(\.isSecure).map { "\($0.name)=\($0.value)" }).isSuperset(of: ["a=1", "b=1", "c=1"]))
        #expect(!cookies.contains { ["a=2", "b=2", "c=2"].contains("\($0.name)=\($0.value)") })
        _ = try names(after: ["c=3", "d=2"], from: http)
        let later = configuration.httpCookieStorage?.cookies ?? []
        #expect(Set(later.map { "\($0.name)=\($0.value)" }).isSuperset(of: ["c=1", "c=3", "d=2"]))
    }

    @Test("A comma in a value does not end the cookie, which keeps its attributes")
    func comma() throws {
        _ = try names(after: [
            " sid = abc,def=1 ; Secure; HttpOnly; Path=/app; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "b=x,yy==", "c=\"1\"",
        ])
        let cookies = Dictionary(uniqueKeysWithValues: (configuration.httpCookieStorage?.cookies ?? []).map { ($0.name, $0) })
        #expect(cookies.mapValues(\.value) == ["sid": "abc,def=1", "b": "x,yy==", "c": "\"1\""])
        let session = try #require(cookies["sid"])
        #expect(session.isSecure && session.isHTTPOnly && session.path == "/app" && session.domain == "api.test")
        #expect(try #require(session.expiresDate).timeIntervalSince1970 == 4_096_250_880)
        #expect(try names(after: ["d=1; Path=/a,e=2"]).contains("d"))
    }

    @Test("The prefixes __Secure- and __Host- hold, and a cookie for https does not come over http")
    func prefixes() throws {
        let accepted = ["__Secure-a=1; Secure", "__Host-b=1; Secure; Path=/", "__HOST-c=1; Secure; Path=/", "d=1; Domain=test.example"]
        #expect(try names(after: accepted, from: "https://api.test.example/").count == 4)
        let refused = [
            "__Secure-e=1", "__Host-m=1; Secure", "__secure-f=1; Path=/", "__Host-g=1", "__Host-h=1; Secure; Path=/h",
            "__host-i=1; Secure; Domain=test.example",
        ]
        #expect(try names(after: refused, from: "https://api.test.example/").count == 4)
        #expect(try names(after: ["j=1; Secure", "__Secure-k=1; Secure"], from: "http://api.test.example/").count == 4)
        // One that https set stays.
        for name in ["__Secure-a", "__Host-b"] { _ = try names(after: ["\(name)=2"], from: "http://api.test.example/") }
        _ = try names(after: ["l=1; Secure", "d=2"], from: "https://api.test.example/")
        _ = try names(after: ["l=2", "d=3"], from: "http://api.test.example/")
        let values = (configuration.httpCookieStorage?.cookies ?? []).filter { $0.domain == "api.test.example" }.map {
            "\($0.name)=\($0.value)"
        }
        #expect(Set(values).isSuperset(of: ["__Secure-a=1", "__Host-b=1", "l=1", "d=3"]) && values.count == 5, "\(values)")
    }
}
