import ApproovTesting
import CertificatePinning
import Testing

@testable import ApproovAuthority

/// The pins of a listener with the operator's own certificate.
@Suite struct AuthorityListenerTests {
    /// The pins that apps get for an authority with the operator's own certificate.
    private func pins(backupPins: [String], of leaf: TestCertificate) async throws -> [String] {
        let bench = try await AuthorityBench()
        let store = bench.store
        let tls = AuthorityConfiguration.TLS.certificate(
            certificatePEM: leaf.chainPEM, keyPEM: leaf.key.privateKeyPEM, backupPins: backupPins, trustRootsPEM: nil)
        return try await AuthorityListener(.loopback(tls: tls), store: store).pins
    }

    @Test("The certificate's own pin comes first, followed by the pins of the backup keys")
    func backups() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let backups = try (0..<2).map { _ in try TestKey().pin.description }
        #expect(try await pins(backupPins: backups, of: leaf) == [leaf.pin.description] + backups)
        // A backup pin without the prefix gets it.
        #expect(try await pins(backupPins: [String(backups[0].dropFirst(7))], of: leaf) == [leaf.pin.description, backups[0]])
    }

    @Test("Repeated backup pins, the certificate's own pin as a backup, and no backup pin are rejected")
    func repeated() async throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: TestPKI.root())
        let (own, backup) = (leaf.pin.description, try TestKey().pin.description)
        for backupPins in [[backup, backup], [backup, String(backup.dropFirst(7))], [own, backup], [own], []] {
            await refuses(.invalidConfiguration) { _ = try await pins(backupPins: backupPins, of: leaf) }
        }
    }
}
