import ApproovTesting
import CertificatePinning
import HTTPClient
import Testing

@Suite("The in-process transport")
struct InProcessTransportTests {
    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
    }

    private func request(pinnedTo pin: Pin) throws -> TransportRequest {
        let rule = TrustRule(evaluators: [try PublicKeysTrustEvaluator(withoutBackup: [pin])])
        let anchors = try TrustAnchors(pem: root.pem)
        let policy = TrustPolicy(rules: try HostMap([(try HostPattern("api.test"), rule)]), defaultAnchors: anchors)
        return TransportRequest(url: try TransportURL("https://api.test/path"), policy: policy)
    }

    @Test("A request to a host with the pinned key reaches the handler")
    func pinned() async throws {
        let transport = InProcessTransport(certificates: ["api.test": leaf]) { request in
            TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: [1, 2]))
        }
        let response = try await transport.send(try request(pinnedTo: leaf.pin))
        #expect(try await response.body.collect(upTo: 10) == [1, 2])
        #expect(transport.requests.map(\.url.target) == ["/path"])
        #expect(transport.refusedRequests.isEmpty)
    }

    @Test("A request to a host with another key fails before it reaches the handler")
    func otherKey() async throws {
        let transport = InProcessTransport(certificates: ["api.test": leaf]) { _ in
            Issue.record("the handler was reached")
            throw TestServerError("never")
        }
        let error = await #expect(throws: TransportError.self) { try await transport.send(try request(pinnedTo: TestKey().pin)) }
        #expect(error?.code == .trustRefused)
        #expect(error?.refusal?.reason == .pinMismatch)
        #expect(transport.requests.isEmpty)
        #expect(transport.refusedRequests.count == 1)
    }

    @Test("A cancelled task sends nothing")
    func cancelled() async throws {
        let transport = InProcessTransport(status: 204)
        let request = try request(pinnedTo: leaf.pin)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await transport.send(request)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.requests.isEmpty)
    }
}
