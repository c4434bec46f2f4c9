import HTTPTypes
import Testing

@testable import Approov

@Suite struct ShownHeadersTests {
    @Test(
        "A field that may hold a credential is never shown",
        arguments: [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Approov-Token", "X-Auth-Token", "X-API-Key", "ApiKey",
            "X-Amz-Security-Token", "Client-Secret", "X-Password", "X-CSRF", "X-XSRF-Value", "Signature", "X-Sig", "Session", "X-JWT",
            "X-OTP", "Location", "Referer", "Link", "Content-Location", "WWW-Authenticate", "X-Reserved",
        ])
    func never(_ name: String) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: "secret")
        #expect(ShownHeaders([name], reserved: ["x-reserved"]).values(of: HTTPFields([field])).isEmpty)
    }

    @Test("Other fields are shown in any case, escaped and cut")
    func shown() throws {
        let shown = ShownHeaders(["content-TYPE", "X-Long"], reserved: [])
        let long = try #require(HTTPField.Name("X-Long"))
        let values = shown.values(of: [
            .contentType: "text/plain", long: "a\tä" + String(repeating: "b", count: 1_000), .eTag: "x",
        ])
        #expect(values["content-type"] == "text/plain" && values.count == 2)
        #expect(values["x-long"]?.hasPrefix("a\\u{9}") == true && values["x-long"]?.hasSuffix("...") == true)
    }
}
