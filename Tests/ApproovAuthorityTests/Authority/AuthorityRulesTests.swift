import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

import ApproovAuthority

@Suite(.tags(.sockets)) struct AuthorityRulesTests {
    private func check(_ configuration: AuthorityConfiguration) async throws {
        _ = try Authority(store: try await AuthorityBench().store, configuration: configuration, logger: .silent)
    }

    @Test("plain http is for loopback addresses alone", arguments: ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.example.com"])
    func plainHTTP(host: String) async throws {
        await refuses(.insecureListener) { try await check(AuthorityConfiguration(host: host, tls: .none)) }
    }

    @Test("plain http on loopback and TLS anywhere are taken", arguments: ["127.0.0.1", "::1", "localhost"])
    func loopback(host: String) async throws {
        try await check(AuthorityConfiguration(host: host, tls: .none))
        try await check(AuthorityConfiguration(host: host))
        try await check(AuthorityConfiguration(host: "0.0.0.0", publicURL: URL(string: "https://authority.example.com")))
    }

    @Test("settings that make no sense are refused")
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

    @Test("a certificate or key that cannot be read is refused when the authority starts")
    func badCertificate() async throws {
        let account = try await AuthorityBench()
        let configuration = AuthorityConfiguration.loopback(
            tls: .certificate(certificatePEM: "nonsense", keyPEM: "nonsense", backupPins: [], trustRootsPEM: nil))
        await refuses(.identityFailed) { try await RunningAuthority.with(store: account.store, configuration: configuration) { _ in } }
    }
}
