import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient

/// Sends requests, cancels them at random times, and prints how many descriptors the process has open before and after:
/// `cancellation-storm 1|2`, where the number is the HTTP version.
///
/// It is not an exit test, because exit tests inherit SwiftNIO's sockets, so that sockets closed by other tests would stay open.
@main
struct CancellationStorm {
    static func main() async throws {
        let versions: TestHTTPServer.Versions = CommandLine.arguments.last == "2" ? .http1AndHTTP2 : .http1
        // The first round opens the descriptors that a process keeps.
        try await run(rounds: 1, versions)
        let before = try openDescriptors()
        try await run(rounds: 10, versions)
        var after = try openDescriptors()
        // Other threads close the last connections.
        for _ in 0..<500 where after > before {
            try await Task.sleep(for: .milliseconds(10))
            after = try openDescriptors()
        }
        print(before, after)
    }

    /// Sends a hundred requests in each round; throws if the server does not answer afterwards.
    private static func run(rounds: Int, _ versions: TestHTTPServer.Versions) async throws {
        let root = try TestPKI.root()
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), versions: versions) {
            _ in
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20)))
            return TestResponse(text: String(repeating: "z", count: Int.random(in: 0...100_000)))
        }
        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: root.pem))
        let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
        let transport = try CurlTransport()
        for _ in 0..<rounds {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let task = Task { try await transport.send(request).body.collect(upTo: 1 << 20) }
                        try? await Task.sleep(for: .microseconds(Int.random(in: 0...30_000)))
                        task.cancel()
                        _ = try? await task.value
                    }
                }
            }
        }
        // A server may answer many cancelled streams with GOAWAY; then the next request uses a new connection.
        var attempts = 0
        while true {
            do {
                _ = try await transport.send(request).body.collect(upTo: 1 << 20)
                break
            } catch {
                attempts += 1
                guard attempts < 3 else { throw error }
            }
        }
        transport.shutdown()
        await server.stop()
    }

    private static func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
