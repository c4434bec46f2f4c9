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
        "Redirects rewrite methods as RFC 9110 and the Fetch standard require",
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
                Issue.record("the body was kept")
                return
            }
            #expect(step.request.value(forHTTPHeaderField: "Content-Type") == nil)
        }
    }

    @Test(
        "A location is resolved against the URL of the request",
        arguments: [
            ("/two", "https://a.test/two"), ("two?x=1", "https://a.test/two?x=1"), ("//b.test/x", "https://b.test/x"),
            ("https://b.test", "https://b.test/"), ("?q", "https://a.test/one?q"),
        ])
    func locations(_ location: String, _ expected: String) throws {
        #expect(try next(302, to: location)?.url.text == expected)
    }

    @Test("A redirect without a location is not followed, and 300 and 304 are not redirects")
    func noLocation() throws {
        #expect(try next(302, to: nil) == nil)
        #expect(!RedirectRules.isRedirect(304))
        #expect(!RedirectRules.isRedirect(300))
    }

    @Test(
        "A location that cannot be requested is refused",
        arguments: ["ftp://a.test/", "javascript:x", "https://user:pw@b.test/", "https://%62.test/", "https://0x7f.1/", "https:///x"])
    func badLocations(_ location: String) {
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(302, to: location) }
    }

    @Test(
        "Credentials are removed if a redirect leads to another host, port or scheme",
        arguments: [
            "https://b.test/", "https://a.test:8443/", "http://a.test/", "https://x.a.test/",
        ])
    func credentials(_ location: String) throws {
        // The last four are three names that many services use for credentials, and one that no list contains.
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

    @Test("Header fields that describe the request are kept on a redirect to another origin, in any spelling")
    func travelling() throws {
        let headers = [
            "accept-language": "de", "User-Agent": "app/1", "RANGE": "bytes=0-9", "If-None-Match": "\"a\"", "Content-Type": "text/plain",
            "Cache-Control": "no-store",
        ]
        let away = try #require(try next(307, to: "https://b.test/", headers: headers))
        #expect(away.request.allHTTPHeaderFields == headers)
    }

    @Test("An empty location, or only a fragment, leads to the URL that the caller requested, not to an interceptor's URL")
    func sameDocument() throws {
        let step = try RedirectStep(URLRequest("https://a.test/one?asked"), body: .none)
        for (location, expected) in [
            ("", "https://a.test/one?asked"), ("#part", "https://a.test/one?asked#part"), ("#", "https://a.test/one?asked#"),
            ("##", "https://a.test/one?asked#%23"), ("#a b", "https://a.test/one?asked#a%20b"), ("#%zz", "https://a.test/one?asked#%25zz"),
            ("#\u{E9}", "https://a.test/one?asked#%C3%A9"),
        ] {
            let response = TransportResponse(status: 302, headerFields: [.location: location], url: step.url)
            let next = try RedirectRules.next(
                after: response, from: step, at: #require(URL(string: "https://a.test/one?secret")), demandsTLS: false, names: nil)
            #expect(next?.request.url?.absoluteString == expected)
        }
    }

    @Test("A request that demands TLS is not redirected to plain HTTP")
    func downgrade() {
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(302, to: "http://a.test/", demandsTLS: true) }
    }

    @Test("A redirect over another host does not end the demand for TLS")
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

    @Test("Two different locations are refused, and two equal ones count as one")
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

    @Test("A stream body is not sent again after 307, but may be dropped after 303")
    func streams() throws {
        let stream = RequestBody.stream(length: nil, RequestBodyStream(AsyncThrowingStream<[UInt8], any Error> { $0.finish() }))
        #expect(throws: ApproovError(.redirectRefused, "")) { try next(307, to: "/two", method: "POST", body: stream) }
        #expect(try next(303, to: "/two", method: "POST", body: stream) != nil)
    }
}
