import ApproovTesting
import HTTPClient
import Testing

@testable import ApproovRelay

@Suite struct RelayConfigurationTests {
    private func refusal(
        host: String = "127.0.0.1", port: Int = 0, gateway: String = "https://gateway.example/gateway", pins: [String] = [],
        roots: String? = nil, tls: RelayConfiguration.TLS = .none, limits: RelayConfiguration.Limits = .init()
    ) -> RelayError.Code? {
        do {
            _ = try Relay(
                configuration: RelayConfiguration(
                    host: host, port: port, gateway: gateway, gatewayPins: pins, gatewayTrustRootsPEM: roots, tls: tls, limits: limits))
            return nil
        } catch {
            return (error as? RelayError)?.code
        }
    }

    @Test("The relay serves clients over plain HTTP only on a loopback address, and rejects a malformed certificate")
    func listener() throws {
        #expect(refusal(host: "0.0.0.0") == .insecureListener)
        #expect(refusal(host: "192.0.2.1") == .insecureListener)
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: TestPKI.root())
        #expect(refusal(host: "0.0.0.0", tls: .certificate(certificatePEM: leaf.chainPEM, keyPEM: leaf.privateKeyPEM)) == nil)
        #expect(refusal(tls: .certificate(certificatePEM: "x", keyPEM: leaf.privateKeyPEM)) == .identityFailed)
    }

    @Test("A gateway reached over plain HTTP must be on loopback and have no pins, and a malformed URL is rejected")
    func gateway() {
        #expect(refusal(gateway: "http://gateway.example/gateway") == .insecureGateway)
        #expect(refusal(gateway: "http://127.0.0.1:8080/gateway") == nil)
        #expect(refusal(gateway: "http://127.0.0.1:8080/gateway", pins: ["sha256/x"]) == .insecureGateway)
        for text in ["", "gateway.example", "ftp://gateway.example", "https://user@gateway.example/", "https://2130706433.1/ "] {
            #expect(refusal(gateway: text) == .malformedGateway, "\(text)")
        }
    }

    @Test("A gateway URL without a path gets the path /gateway, and any other path is kept, including / alone")
    func path() throws {
        func target(_ gateway: String) throws -> String { try GatewayLink(RelayConfiguration(port: 0, gateway: gateway)).url.text }
        for text in ["https://g.example", "https://g.example/gateway"] {
            #expect(try target(text) == "https://g.example/gateway")
        }
        #expect(try target("http://[::1]:8080") == "http://[::1]:8080/gateway")
        for text in ["https://g.example/", "https://g.example/other", "https://g.example/gateway/", "https://g.example/?q"] {
            #expect(try target(text) == text)
        }
    }

    @Test("The transport allows as many requests and gateway connections as the relay forwards at once")
    func connections() {
        let bounds = RelayConfiguration.Limits.quick { $0.requests = 3_000 }.ofTransport
        #expect(bounds.maximumRequests == 3_000 && bounds.maximumConnectionsPerHost == 3_000)
    }

    @Test("Pins, roots, ports and limits that are not valid are rejected")
    func others() {
        #expect(refusal(pins: ["sha256/AAAA"]) == .malformedPin)
        #expect(refusal(roots: "no PEM") == .malformedGateway)
        #expect(refusal(port: 65_536) == .invalidConfiguration)
        #expect(refusal(limits: .quick { $0.requests = 0 }) == .invalidConfiguration)
        #expect(refusal(limits: .quick { $0.gatewayIdleTimeout = .zero }) == .invalidConfiguration)
    }
}
