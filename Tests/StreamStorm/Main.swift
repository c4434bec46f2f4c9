import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient

/// Requests bodies without Content-Length from SwiftNIO servers over HTTP/2 many times, and checks that none is lost.
///
/// libcurl resets each of these streams, and the server closes the connection after 200 of them. `stream-storm [COUNT]`, 100,000 by
/// default, prints the outcomes of the requests; its exit code is 1 if a response was incomplete or a request failed.
@main
struct StreamStorm {
    /// The number of concurrent requests.
    private static let concurrency = 32
    /// The number of requests to one server: enough that the server closes a connection, after which the rest use HTTP/1.1.
    private static let requestsPerServer = 384

    enum Outcome: Hashable {
        case whole(version: String), lost, failed(String)
    }

    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        var outcomes: [Outcome: Int] = [:]
        var rest = count
        while rest > 0 {
            let server = try await TestHTTPServer.start(certificate: leaf) { _ in
                TestResponse(length: nil) { index in index == 0 ? Array("hello".utf8) : nil }
            }
            let transport = try CurlTransport()
            let request = TransportRequest(url: try TransportURL(server.url), policy: policy)
            let share = min(rest, requestsPerServer)
            await withTaskGroup(of: Outcome.self) { group in
                for number in 0..<share {
                    if number >= concurrency, let outcome = await group.next() { outcomes[outcome, default: 0] += 1 }
                    group.addTask { await ask(request, transport) }
                }
                for await outcome in group { outcomes[outcome, default: 0] += 1 }
            }
            rest -= share
            transport.shutdown()
            await server.stop(grace: .zero)
        }
        print("\(count) requests:", outcomes.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", "))
        let isGood = outcomes.keys.allSatisfy { if case .whole = $0 { true } else { false } }
        exit(isGood ? 0 : 1)
    }

    private static func ask(_ request: TransportRequest, _ transport: CurlTransport) async -> Outcome {
        do {
            let response = try await transport.send(request)
            let bytes = try await response.body.collect(upTo: 100)
            return response.status == 200 && bytes == Array("hello".utf8) ? .whole(version: response.version) : .lost
        } catch {
            return .failed("\(error)")
        }
    }
}
