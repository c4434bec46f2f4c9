import HTTPTypes
import MessageSignatures
import Testing

@Suite struct SignableRequestTests {
    @Test("A request of swift-http-types is taken with its exact path")
    func taken() throws {
        let request = HTTPRequest(
            method: .init("PATCH")!, scheme: "https", authority: "Example.com:443", path: "/a%2fb?x=&x", headerFields: fields(["A": "1"]))
        let signable = try SignableRequest(request)
        #expect(signable.method == "PATCH")
        #expect(signable.target.text == "https://example.com/a%2fb?x=&x")
        #expect(signable.fields == request.headerFields)
        #expect(signable.trailers == nil)
    }

    @Test("A request to all of a server has an asterisk as its target")
    func asterisk() throws {
        let request = try SignableRequest(HTTPRequest(method: .options, scheme: "https", authority: "example.com", path: "*"))
        #expect(request.requestTarget == "*" && request.target.text == "https://example.com")
    }

    @Test("Without scheme, authority or path, or with a method that is no token, there is nothing to sign")
    func bad() throws {
        #expect(code { _ = try SignableRequest(HTTPRequest(method: .get, scheme: nil, authority: "a", path: "/")) } == .invalidMessage)
        #expect(code { _ = try SignableRequest(HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/")) } == .invalidMessage)
        #expect(code { _ = try SignableRequest(HTTPRequest(method: .get, scheme: "https", authority: "a", path: nil)) } == .invalidMessage)
        for method in ["", "GET\n", "G T"] { #expect(code { _ = try request(method) } == .invalidMessage) }
    }
}
