import ApproovTesting
import CertificatePinning
import Testing

@testable import ApproovAuthority

/// Covers A15 of the list of traps.
@Suite struct AuthorityListenerTests {
    /// The pins that apps are told of an authority with the operator's own certificate.
    private func pins(backupPins: [String], of leaf: TestCertificate) async throws -> [String] {
        let store = try await AuthorityBench().store
        let tls = AuthorityConfiguration.TLS.certificate(
            certificatePEM: leaf.chainPEM, keyPEM: leaf.key.privateKeyPEM, backupPins: backupPins, trustRootsPEM: nil)
        return try await AuthorityListener(.loopback(tls: tls), store: store).pins
    }

    @Test("the certificate's own pin comes first, then those of the backup keys")
    func backups() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let backups = try (0..<2).map { _ in try TestKey().pin.description }
        #expect(try await pins(backupPins: backups, of: leaf) == [leaf.pin.description] + backups)
        // In the spelling of all others.
        #expect(try await pins(backupPins: [String(backups[0].dropFirst(7))], of: leaf) == [leaf.pin.description, backups[0]])
    }

    @Test("a backup pin that is named twice, or is the certificate's own, is refused: apps would refuse the configuration")
    func repeated() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let (own, backup) = (leaf.pin.description, try TestKey().pin.description)
        for backupPins in [[backup, backup], [backup, String(backup.dropFirst(7))], [own, backup], [own], []] {
            await refuses(.invalidConfiguration) { _ = try await pins(backupPins: backupPins, of: leaf) }
        }
    }
}
