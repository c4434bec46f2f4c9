import ApproovAuthority
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

@Suite(.tags(.sockets)) struct AuthoritySettingsTests {
    private func check(_ configuration: AuthorityConfiguration) async throws {
        _ = try Authority(store: try await AuthorityBench().store, configuration: configuration, logger: .silent)
    }

    @Test(
        "The authority rejects plain HTTP on an address that is not loopback",
        arguments: ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.example.com"])
    func plainHTTP(host: String) async throws {
        await refuses(.insecureListener) { try await check(AuthorityConfiguration(host: host, tls: .none)) }
    }

    @Test("The authority accepts plain HTTP on loopback, and TLS on any address", arguments: ["127.0.0.1", "::1", "localhost"])
    func loopback(host: String) async throws {
        try await check(AuthorityConfiguration(host: host, tls: .none))
        try await check(AuthorityConfiguration(host: host))
        try await check(AuthorityConfiguration(host: "0.0.0.0", publicURL: URL(string: "https://authority.example.com")))
    }

    @Test("Settings out of range and invalid public URLs are rejected")
    func nonsense() async throws {
        for configuration in [
            AuthorityConfiguration(port: -1), AuthorityConfiguration(port: 65_536), AuthorityConfiguration(tokenLifetime: 0),
            AuthorityConfiguration(tokenLifetime: 86_401), AuthorityConfiguration(attestationsPerMinute: 0),
            AuthorityConfiguration(publicURL: URL(string: "http://authority.example.com")),
            AuthorityConfiguration(publicURL: URL(string: "https://user@authority.example.com")),
            AuthorityConfiguration(publicURL: URL(string: "https://authority.example.com/?a=b")),
            AuthorityConfiguration(publicURL: URL(string: "/authority")),
        ] {
            await refuses(.invalidConfiguration) { try await check(configuration) }
        }
        var zero = AuthorityConfiguration()
        zero.limits.idleTimeout = .zero
        let configuration = zero
        await refuses(.invalidConfiguration) { try await check(configuration) }
    }

    @Test("The authority does not start with a malformed certificate and key")
    func badCertificate() async throws {
        let account = try await AuthorityBench()
        let configuration = AuthorityConfiguration.loopback(
            tls: .certificate(certificatePEM: "nonsense", keyPEM: "nonsense", backupPins: [], trustRootsPEM: nil))
        await refuses(.identityFailed) { try await RunningAuthority.with(store: account.store, configuration: configuration) { _ in } }
    }
}
