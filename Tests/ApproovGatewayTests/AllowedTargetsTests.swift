import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes
import Testing

@testable import ApproovGateway

@Suite struct AllowedTargetsTests {
    private func rules(_ allow: String..., pins: [String: [String]] = [:]) throws -> AllowedTargets {
        try AllowedTargets(GatewayConfiguration(port: 0, allowedOrigins: allow, pins: pins))
    }

    private func request(
        _ scheme: String?, _ authority: String?, _ path: String?, method: HTTPRequest.Method = .get, host: [String] = []
    ) -> HTTPRequest {
        var fields = HTTPFields()
        if let name = HTTPField.Name("Host") { for value in host { fields.append(HTTPField(name: name, value: value)) } }
        return HTTPRequest(method: method, scheme: scheme, authority: authority, path: path, headerFields: fields)
    }

    @Test("An allowed origin is reached under each of its spellings, at the path that the request names")
    func allowed() throws {
        let rules = try rules("https://API.example.com", "https://b.example.com:8443/", "http://127.0.0.1:8080")
        for authority in ["api.example.com", "API.EXAMPLE.COM.", "api.example.com:443"] {
            #expect(rules.target(of: request("https", authority, "/a?b=c"))?.text == "https://api.example.com/a?b=c")
        }
        #expect(rules.target(of: request("HTTPS", "api.example.com", "/"))?.text == "https://api.example.com/")
        #expect(rules.target(of: request("https", "b.example.com:8443", "/"))?.port == 8_443)
        #expect(rules.target(of: request("http", "127.0.0.1:8080", "//x/../y"))?.text == "http://127.0.0.1:8080//x/../y")
        #expect(rules.target(of: request("https", nil, "/", host: ["api.example.com"])) != nil)
        #expect(rules.target(of: request("https", "", "/", host: ["api.example.com"])) != nil)
        #expect(rules.target(of: request("https", "api.example.com:443", "/", host: ["Api.example.com"])) != nil)
    }

    @Test("No other target is reached, whatever its spelling")
    func refused() throws {
        let rules = try rules("https://api.example.com", "http://127.0.0.1:8080")
        let requests = [
            request("https", "other.example.com", "/"), request("http", "api.example.com", "/"),
            request("https", "api.example.com:8443", "/"),
            request("https", "x.api.example.com", "/"), request("https", "api.example.com.evil.example", "/"),
            request("https", "api.example.com@evil.example", "/"), request("https", "me@api.example.com", "/"),
            request("https", "api.example.com/@evil.example", "/"), request("https", "evil.example/?api.example.com", "/"),
            request("https", "evil.example#api.example.com", "/"), request("https", "api.example.com\\.evil.example", "/"),
            request("https", "api.example.com", "https://evil.example/"), request("https", "api.example.com", "@evil.example/"),
            request("https", "api.example.com", ".evil.example/"), request("https", "api.example.com", ":80/"),
            request("https", "api.example.com", "*"), request("https", "api.example.com", "/a#b"), request("https", "api.example.com", ""),
            request("https", "api.example.com", nil), request("https", nil, "/"), request(nil, "api.example.com", "/"),
            request("ftp", "api.example.com", "/"), request("https://evil.example/?", "api.example.com", "/"),
            request("https", "api.example.com", "/", host: ["evil.example"]),
            request("https", nil, "/", host: ["api.example.com", "api.example.com"]),
            request("https", "api.example.com", "/", host: ["api.example.com", "evil.example"]),
            request(nil, "api.example.com:443", nil, method: .connect), request("https", "api.example.com", "/", method: .connect),
            request("http", "169.254.169.254", "/latest/meta-data"), request("http", "2130706433:8080", "/"),
            request("http", "0x7f000001:8080", "/"), request("http", "127.1:8080", "/"), request("http", "localhost:8080", "/"),
            request("http", "[::1]:8080", "/"), request("http", "127.0.0.1", "/"), request("http", "0.0.0.0:8080", "/"),
            request("http", "127.0.0.1:8080:80", "/"), request("http", "127.0.0.1:99999", "/"),
        ]
        for request in requests { #expect(rules.target(of: request) == nil, "\(request)") }
        var websocket = request("https", "api.example.com", "/", method: .connect)
        websocket.extendedConnectProtocol = "websocket"
        #expect(rules.target(of: websocket) == nil)
    }

    @Test("The origin of a request may be allowed although its path, its method or its Host is refused")
    func allowedOrigins() throws {
        let rules = try rules("https://api.example.com")
        let allowed = [
            request("https", "api.example.com", "/"), request("https", "api.example.com", "/a#b"),
            request("https", "API.example.com:443", "*"),
            request("https", "api.example.com", "/", host: ["evil.example"]), request("https", nil, nil, host: ["api.example.com"]),
            request("https", "api.example.com", "/", method: .connect),
        ]
        for request in allowed { #expect(rules.allowsOrigin(of: request), "\(request)") }
        let others = [
            request("http", "api.example.com", "/"), request("https", "evil.example", "/", host: ["api.example.com"]),
            request("https", "api.example.com@evil.example", "/"), request(nil, "api.example.com", "/"), request("https", nil, "/"),
        ]
        for request in others { #expect(!rules.allowsOrigin(of: request), "\(request)") }
    }

    @Test("An IPv4-mapped IPv6 address is treated as its IPv4 address")
    func mapped() throws {
        #expect(try rules("http://127.0.0.1:8080").target(of: request("http", "[::ffff:127.0.0.1]:8080", "/"))?.host.name == "127.0.0.1")
    }

    @Test(
        "A malformed origin is rejected when the gateway is created",
        arguments: [
            "", "api.example.com", "https://api.example.com/path", "https://api.example.com/?q", "https://api.example.com/#f",
            "https://*.example.com", "*", "http://api.example.com", "http://192.168.0.1", "ftp://api.example.com",
            "https://me@api.example.com",
        ])
    func malformed(origin: String) async {
        await refuses(.malformedOrigin) { _ = try rules(origin) }
    }

    @Test("No origin, pins for a host that is no HTTPS origin, and malformed pins or roots are rejected")
    func others() async throws {
        await refuses(.malformedOrigin) { _ = try AllowedTargets(GatewayConfiguration(port: 0, allowedOrigins: [])) }
        let pin = try TestKey().pin.description
        await refuses(.malformedOrigin) { _ = try rules("https://api.example.com", pins: ["other.example.com": [pin]]) }
        await refuses(.malformedOrigin) { _ = try rules("http://127.0.0.1:1", pins: ["127.0.0.1": [pin]]) }
        await refuses(.malformedPin) { _ = try rules("https://api.example.com", pins: ["api.example.com": ["sha256/AAAA"]]) }
        await refuses(.malformedPin) { _ = try rules("https://api.example.com", pins: ["api.example.com": []]) }
        await refuses(.identityFailed) {
            _ = try AllowedTargets(GatewayConfiguration(port: 0, allowedOrigins: ["https://api.example.com"], trustRootsPEM: "none"))
        }
    }
}
