import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct SessionCookiesTests {
    private let configuration = URLSessionConfiguration.ephemeral

    /// Stores the cookies of a response, and returns the names of those that the storage then has.
    private func names(after cookies: [String]) throws -> Set<String> {
        let url = try #require(URL(string: "https://api.test/"))
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
}
