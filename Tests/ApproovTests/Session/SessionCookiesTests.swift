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
        let sent = try #require(SessionCookies(configuration)).header(for: #require(URL(string: "https://api.test/")))
        #expect(sent?.contains("h=1") == true && sent?.contains("i=1") == true && sent?.contains("j=1") == false)
    }

    @Test("A cookie that Foundation's storage would take for another one does not replace it")
    func mistaken() throws {
        _ = try names(after: ["session=1; Secure; Path=/"], from: "https://api.test/")
        for url in ["http://api.test/s", "https://api.test/s"] {
            #expect(try names(after: ["ession=2; Path=/s"], from: url) == ["session"])
        }
        #expect(configuration.httpCookieStorage?.cookies?.map(\.value) == ["1"])
        _ = try names(after: ["session=3; Secure; Path=/"])
        #expect(configuration.httpCookieStorage?.cookies?.map(\.value) == ["3"])
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
