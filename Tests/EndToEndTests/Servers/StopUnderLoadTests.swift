import ApproovTesting
import Foundation
import HTTPTypes
import TestTags
import Testing

/// What becomes of requests when a server's process is told to stop.
///
/// `APPROOV_STOPS=100` stops each server a hundred times.
@Suite(.tags(.sockets, .processes), .serialized, .timeLimit(.minutes(30))) struct StopUnderLoadTests {
    private static let stops = ProcessInfo.processInfo.environment["APPROOV_STOPS"].flatMap(Int.init) ?? 2

    private struct Site {
        let folder: TemporaryFolder
        let root: TestCertificate
        let certificate: String
        let key: String

        init() throws {
            folder = try TemporaryFolder()
            root = try TestPKI.root()
            let leaf = try TestPKI.leaf(hosts: ["127.0.0.1", "localhost"], issuer: root)
            certificate = try folder.write(leaf.chainPEM, to: "certificate.pem")
            key = try folder.write(leaf.privateKeyPEM, to: "key.pem")
        }
    }

    @Test("a backend with a connection guard that gets SIGTERM under load loses no answer to a request that it executed (HTTP/2)")
    func backend() async throws {
        let site = try Site()
        for _ in 0..<Self.stops {
            let process = try ChildProcess(ChildProcess.beside("guarded-backend"), [site.certificate, site.key])
            let url = try await process.waitForOutput().split(separator: "\n").first.map(String.init)
            let clients = BusyClients(url: try #require(url) + "/work", root: site.root.pem)
            let outcome = try await clients.work(8, untilAnswers: Int.random(in: 50...150)) {
                process.signal(SIGTERM)
                #expect(await process.wait().end == .exit(0))
            }
            let executed = Set(process.output.split(separator: "\n").dropFirst().map(String.init))
            #expect(outcome.answered.isSubset(of: executed))
            let lost = outcome.failed.intersection(executed)
            #expect(lost.isEmpty, "\(outcome.answered.count) answered, \(outcome.failed.count) failed")
        }
    }

    @Test("a relay that gets SIGTERM under load loses no answer to a request that it forwarded (HTTP/1.1)", arguments: [false, true])
    func relay(isSecure: Bool) async throws {
        let site = try Site()
        let forwarded = Shared<Set<String>>([])
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let id = String(decoding: try await message.body.collect(), as: UTF8.self)
            forwarded.change { _ = $0.insert(id) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"], text: id)
        }
        for _ in 0..<Self.stops {
            forwarded.value = []
            let tls = isSecure ? ["--tls-cert", site.certificate, "--tls-key", site.key] : []
            let process = try ChildProcess(
                ChildProcess.approov, ["relay", "--listen", "127.0.0.1:0", "--gateway", gateway.url + "/"] + tls)
            let url = try await process.waitForOutput().split(separator: "\n").first.map(String.init)
            let clients = BusyClients(url: try #require(url), root: site.root.pem, contentType: "message/ohttp-req")
            let outcome = try await clients.work(8, untilAnswers: Int.random(in: 50...150)) {
                process.signal(SIGTERM)
                #expect(await process.wait().end == .exit(0))
            }
            let lost = outcome.failed.intersection(forwarded.value)
            #expect(lost.isEmpty, "\(outcome.answered.count) answered, \(outcome.failed.count) failed")
        }
        await gateway.stop()
    }
}
