import ApproovTesting
import Foundation
import OAuth2
import Testing

@Suite struct OAuth2ServerTests {
    @Test(
        "A server without https, with a fragment or with a host that cannot be called is refused",
        arguments: [
            "http://login.test/token", "http://127.0.0.1/token", "ftp://login.test/", "https://login.test/token#x", "https://u@login.test/",
        ])
    func refused(url: String) {
        #expect(code(as: OAuth2Error.self) { try OAuth2Server(tokenURL: Samples.url(url)) } == .configurationError)
    }

    @Test("Plain http needs a loopback address and the option that allows it")
    func loopback() throws {
        _ = try OAuth2Server(tokenURL: Samples.url("http://127.0.0.1:1/token"), allowsUnencryptedLoopback: true)
        #expect(
            code(as: OAuth2Error.self) {
                try OAuth2Server(tokenURL: Samples.url("http://login.test/token"), allowsUnencryptedLoopback: true)
            } == .configurationError)
    }

    @Test("A scope with quotation marks or control characters is refused", arguments: ["", "a\"b", "a\\b", "a\nb", "ä"])
    func scope(scope: String) {
        #expect(code(as: OAuth2Error.self) { try Samples.server(scope: scope) } == .configurationError)
    }
}
