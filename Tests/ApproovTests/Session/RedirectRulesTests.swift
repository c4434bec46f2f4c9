import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct RedirectRulesTests {
    private func next(
        _ status: Int, to location: String?, from text: String = "https://a.test/one", method: String = "GET",
        headers: [String: String] = [:], body: RequestBody = .none, demandsTLS: Bool = false
    ) throws -> RedirectStep? {
        let step = try RedirectStep(URLRequest(text, method: method, headers), body: body)
        var fields = HTTPFields()
        fields[.location] = location
        let response = TransportResponse(status: status, headerFields: fields, url: step.url)
        return try RedirectRules.next(
            after: response, from: step, at: try #require(step.request.url), demandsTLS: demandsTLS, names: nil)
    }

    @Test(
        "methods are rewritten as RFC 9110 and Fetch say",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
            (301, "PUT", "PUT"), (302, "DELETE", "DELETE"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "HEAD", "HEAD"),
        ])
    func methods(_ status: Int, _ method: String, _ expected: String) throws {
        let step = try #require(
            try next(status, to: "/two", method: method, headers: ["Content-Type": "text/plain"], body: .bytes([1])))
        #expect(try step.request.method.rawValue == expected)
        let keepsBody = expected == method && method != "HEAD" || (status == 301 && method == "HEAD")
        if keepsBody {
            #expect(step.request.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        } else if method != "HEAD" {
            guard case .none = step.body else {
                Issue.record("the body is still there")
                return
            }
            #expect(step.request.value(forHTTPHeaderField: "Content-Type") == nil)
        }
    }

    @Test(
        "locations are resolved against the URL that was asked for",
        arguments: [
            ("/two", "https://a.test/two"), ("two?x=1", "https://a.test/two?x=1"), ("//b.test/x", "https://b.test/x"),
            ("https://b.test", "https://b.test/"), ("?q", "https://a.test/one?q"),
        ])
    func locations(_ location: String, _ expected: String) throws {
        #expect(try next(302, to: location)?.url.text == expected)
    }

    @Test("without a location there is nowhere to go")
    func noLocation() throws {
        #expect(try next(302, to: nil) == nil)
        #expect(!RedirectRules.isRedirect(304))
        #expect(!RedirectRules.isRedirect(300))
    }

    @Test(
        "a location that cannot be requested is refused",
        arguments: ["ftp://a.test/", "javascript:x", "https://user:pw@b.test/", "https://%62.test/", "https://0x7f.1/", "https:///x"])
    func badLocations(_ location: String) {
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(302, to: location) }
    }

    @Test(
        "credentials stay where the origin is left: another host, port or scheme",
        arguments: [
            "https://b.test/", "https://a.test:8443/", "http://a.test/", "https://x.a.test/",
        ])
    func credentials(_ location: String) throws {
        // The last ones are credentials of many services, and a name that no list knows.
        let headers = [
            "authorization": "s", "Cookie": "s", "Proxy-Authorization": "s", "Accept": "text/plain", "X-Auth-Token": "s", "x-api-key": "s",
            "X-CSRF-Token": "s", "Ours": "s",
        ]
        let away = try #require(try next(302, to: location, headers: headers))
        #expect(away.hasLeftOrigin)
        #expect(away.request.allHTTPHeaderFields == ["Accept": "text/plain"])
        let home = try #require(try next(302, to: "https://A.TEST:443/two", headers: headers))
        #expect(!home.hasLeftOrigin)
        #expect(home.request.allHTTPHeaderFields == headers)
    }

    @Test("what describes the request goes to another origin, in whatever spelling")
    func travelling() throws {
        let headers = [
            "accept-language": "de", "User-Agent": "app/1", "RANGE": "bytes=0-9", "If-None-Match": "\"a\"", "Content-Type": "text/plain",
            "Cache-Control": "no-store",
        ]
        let away = try #require(try next(307, to: "https://b.test/", headers: headers))
        #expect(away.request.allHTTPHeaderFields == headers)
    }

    @Test("a location without path and query is the URL that the caller asked for, not what interceptors made of it")
    func sameDocument() throws {
        let step = try RedirectStep(URLRequest("https://a.test/one?asked"), body: .none)
        for (location, expected) in [("", "https://a.test/one?asked"), ("#part", "https://a.test/one?asked#part")] {
            let response = TransportResponse(status: 302, headerFields: [.location: location], url: step.url)
            let next = try RedirectRules.next(
                after: response, from: step, at: #require(URL(string: "https://a.test/one?secret")), demandsTLS: false, names: nil)
            #expect(next?.request.url?.absoluteString == expected)
        }
    }

    @Test("a request with a token, or to a host with pins or an evaluator, never goes on to plain http")
    func downgrade() {
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(302, to: "http://a.test/", demandsTLS: true) }
    }

    @Test("nor does it on a detour over a host that could have")
    func downgradeLater() throws {
        let detour = try #require(try next(307, to: "https://b.test/", demandsTLS: true))
        var fields = HTTPFields()
        fields[.location] = "http://b.test/"
        let response = TransportResponse(status: 307, headerFields: fields, url: detour.url)
        #expect(throws: ApproovError(.redirectRefused, "")) {
            try RedirectRules.next(
                after: response, from: detour, at: #require(detour.request.url), demandsTLS: false, names: nil)
        }
    }

    @Test("two locations that differ are refused, the same one twice is one")
    func twoLocations() throws {
        let step = try RedirectStep(URLRequest("https://a.test/one"), body: .none)
        func next(_ locations: [String]) throws -> RedirectStep? {
            let fields = HTTPFields(locations.map { HTTPField(name: .location, value: $0) })
            let response = TransportResponse(status: 302, headerFields: fields, url: step.url)
            return try RedirectRules.next(
                after: response, from: step, at: #require(step.request.url), demandsTLS: false, names: nil)
        }
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(["https://b.test/", "https://c.test/"]) }
        #expect(try next(["https://b.test/", "https://b.test/"])?.url.text == "https://b.test/")
    }

    @Test("a body that is a stream is not sent twice, but may be dropped")
    func streams() throws {
        let stream = RequestBody.stream(length: nil, RequestBodyStream(AsyncThrowingStream<[UInt8], any Error> { $0.finish() }))
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(307, to: "/two", method: "POST", body: stream) }
        #expect(try next(303, to: "/two", method: "POST", body: stream) != nil)
    }
}
