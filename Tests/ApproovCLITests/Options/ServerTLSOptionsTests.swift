import ApproovTesting
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite(.tags(.sockets, .processes), .timeLimit(.minutes(5))) struct ServerTLSOptionsTests {
    @Test(
        "A server warns of a TLS key that every user can access, and not of one for its owner and group",
        arguments: [(0o644, true), (0o604, true), (0o640, false), (0o600, false)])
    func permissions(mode: Int, isWarned: Bool) async throws {
        let folder = try TemporaryFolder()
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1"], issuer: try TestPKI.root())
        let key = try folder.write(leaf.key.privateKeyPEM, to: "relay.key")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: key)
        let arguments = [
            "relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1", "--tls-cert",
            try folder.write(leaf.chainPEM, to: "relay.pem"), "--tls-key", key,
        ]
        let run = try await ServerProcess.run(arguments) { relay in #expect(relay.url.hasPrefix("https://")) }
        #expect(run.exitCode == 0 && run.errors.contains("chmod 600 \(key)") == isWarned, "\(run.errors)")
    }
}
