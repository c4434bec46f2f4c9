import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import TestTags
import Testing

/// An `openssl s_server`, which can staple one OCSP response to all its connections.
struct StaplingServer {
    let port: Int
    private let process: ChildProcess
    /// Holds the OCSP response, which the server reads for every connection.
    private let folder: TemporaryFolder

    static func start(_ certificate: TestCertificate, staple: [UInt8]?, version: String) async throws -> StaplingServer {
        let folder = try TemporaryFolder()
        var arguments = ["s_server", "-accept", "127.0.0.1:0", "-www", version]
        arguments += ["-cert", try folder.write(certificate.chainPEM, to: "cert.pem")]
        arguments += ["-key", try folder.write(certificate.privateKeyPEM, to: "key.pem")]
        if let staple { arguments += ["-status_file", try folder.write(staple, to: "staple")] }
        let process = try ChildProcess(URL(filePath: "/usr/bin/openssl"), arguments)
        // "ACCEPT 127.0.0.1:12345"
        let text = try await process.waitForOutput { $0.contains("ACCEPT") && $0.hasSuffix("\n") }
        let number = text.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        guard let port = number.flatMap({ Int($0) }) else { throw TestServerError("no port in: \(text)") }
        return StaplingServer(port: port, process: process, folder: folder)
    }

    func stop() { process.signal(SIGTERM) }
}

@Suite("Stapled OCSP responses through libcurl", .tags(.processes), .timeLimit(.minutes(5)))
struct StapledResponseTests {
    @Test(
        "The client accepts a server with a good staple, and refuses one whose staple is missing or says revoked",
        arguments: ["-tls1_2", "-tls1_3"])
    func staples(version: String) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let transport = try CurlTransport()
        let cases: [([UInt8]?, TrustRefusal.Reason?)] = [
            (try TestPKI.ocspResponse(for: leaf), nil), (try TestPKI.ocspResponse(for: leaf, status: .revoked), .revoked),
            (nil, .revocationUnknown),
        ]
        for (staple, reason) in cases {
            let server = try await StaplingServer.start(leaf, staple: staple, version: version)
            let rule = TrustRule(evaluators: [RevocationTrustEvaluator(sources: .withoutNetwork)])
            let policy = TrustPolicy(
                rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: try TrustAnchors(pem: root.pem))
            let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
            if let reason {
                #expect(await transportError { try await transport.send(request) }?.refusal?.reason == reason)
            } else {
                #expect(try await transport.send(request).status == 200)
            }
            server.stop()
        }
        transport.shutdown()
    }
}
