import CertificatePinning
import Testing

@testable import APIClient

// Acceptance list: S2.114
@Suite struct HostStatusTests {
    @Test("This machine and an address with a route are reachable, and another host is what the network is")
    func hosts() throws {
        for status in [NetworkStatus.reachable, .unreachable, .unknown] {
            let monitor = NetworkMonitor(testing: status) { $0.name == "192.0.2.1" }
            for host in ["localhost", "127.0.0.1", "[::1]", "192.0.2.1"] { #expect(try monitor.status(of: host) == .reachable, "\(host)") }
            for host in ["api.example.com", "API.example.com.", "192.0.2.2", "2001:db8::1"] {
                #expect(try monitor.status(of: host) == status, "\(host)")
            }
        }
    }

    @Test("A text that is no host is refused", arguments: ["", "https://api.example.com", "api.example.com:443", "a b"])
    func malformed(host: String) throws {
        let error = try #require(throws: APIError.self) { try NetworkMonitor(testing: .reachable).status(of: host) }
        #expect(error.code == .invalidURL && error.message.contains("without scheme"))
    }
}
