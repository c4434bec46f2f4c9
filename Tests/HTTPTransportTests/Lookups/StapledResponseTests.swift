import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTransport
import Testing

/// `openssl s_server`, which can staple: one response for all of its connections.
final class StaplingServer {
    let port: Int
    private let process: Process
    private let folder: URL

    private init(port: Int, process: Process, folder: URL) {
        self.port = port
        self.process = process
        self.folder = folder
    }

    static func start(_ certificate: TestCertificate, staple: [UInt8]?, version: String) async throws -> StaplingServer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "stapling-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func write(_ bytes: [UInt8], _ name: String) throws -> String {
            let file = folder.appending(path: name)
            try Data(bytes).write(to: file)
            return file.path(percentEncoded: false)
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        var arguments = ["s_server", "-accept", "127.0.0.1:0", "-www", version]
        arguments += ["-cert", try write(Array(certificate.chainPEM.utf8), "cert.pem")]
        arguments += ["-key", try write(Array(certificate.privateKeyPEM.utf8), "key.pem")]
        if let staple { arguments += ["-status_file", try write(staple, "staple")] }
        process.arguments = arguments
        let log = try write([], "log")
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var text = ""
        // "ACCEPT 127.0.0.1:12345"
        while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
            guard process.isRunning else { throw TestServerError("openssl s_server ended: \(text)") }
            try await Task.sleep(for: .milliseconds(20))
            text = try String(contentsOfFile: log, encoding: .utf8)
        }
        let number = text.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        guard let port = number.flatMap({ Int($0) }) else { throw TestServerError("no port in: \(text)") }
        return StaplingServer(port: port, process: process, folder: folder)
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(at: folder)
    }
}

@Suite("Stapled OCSP responses through libcurl", .timeLimit(.minutes(2)))
struct StapledResponseTests {
    @Test("a staple decides before the request is sent", arguments: ["-tls1_2", "-tls1_3"])
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
        }
        transport.shutdown()
    }
}
