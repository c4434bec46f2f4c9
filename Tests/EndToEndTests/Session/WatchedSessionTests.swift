import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.37, S4.30
@Suite(.tags(.sockets)) struct WatchedSessionTests {
    /// Records the ends of calls.
    struct Ends: SessionObserver {
        let finished = Shared<[CallMetrics]>([])
        let failures = Shared<[CallFailure]>([])
        func didFinish(_ metrics: CallMetrics) { finished.change { $0.append(metrics) } }
        func didFail(_ failure: CallFailure) { failures.change { $0.append(failure) } }
    }

    private func session(
        _ root: TestCertificate, _ change: (inout ApproovSessionConfiguration) -> Void
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        change(&configuration)
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: nil,
            trustManager: ApproovTrustManager(anchors: .of(root), logger: .silent), configuration: configuration)
    }

    @Test("An observer sees the phases of a real transfer, and that a second one uses the open connection")
    func phases() async throws {
        let root = try TestPKI.root()
        let server = try await TestHTTPServer.start(certificate: try TestPKI.leaf(hosts: ["localhost"], issuer: root)) { _ in
            TestResponse(text: "hello")
        }
        let ends = Ends()
        let session = try session(root) { $0.observers = [ends] }
        for _ in 0..<2 { _ = try await session.data(for: URLRequest("\(server.url)/items?q=1")) }
        #expect(await eventually { ends.finished.value.count == 2 })
        let (first, second) = (try #require(ends.finished.value.first), try #require(ends.finished.value.last))
        #expect(first.timings?.connect != nil && first.timings?.tls != nil && first.timings?.firstByte != nil)
        #expect(second.timings != nil && second.timings?.tls == nil)
        #expect(first.request.path == "/items" && first.request.queryNames == ["q"] && first.receivedBytes == 5)
        await server.stop()
    }

    @Test("A POST to a server that is down is sent again, because it certainly was not executed")
    func retry() async throws {
        let root = try TestPKI.root()
        let certificate = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        // Takes a port and frees it.
        let placeholder = try await TestHTTPServer.start(certificate: certificate) { _ in TestResponse(text: "") }
        let port = placeholder.port
        await placeholder.stop()
        let ends = Ends()
        var policy = RetryPolicy(limit: 1)
        policy.firstDelay = .milliseconds(1)
        let session = try session(root) {
            $0.observers = [ends]
            $0.interceptors = [policy]
        }
        let post = URLRequest("https://localhost:\(port)/", method: "POST", body: "x")
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: post) }
        #expect(error?.code == .networkingError && error?.isRetryable == true)
        #expect(await eventually { ends.failures.value.count == 2 })
        #expect(ends.failures.value.map(\.willRetry) == [true, false])
    }

    @Test("A GET that a busy server refused is sent again, and a POST is not")
    func unsure() async throws {
        let root = try TestPKI.root()
        let count = Shared([String: Int]())
        let server = try await TestHTTPServer.start(
            certificate: try TestPKI.leaf(hosts: ["localhost"], issuer: root), versions: .http1
        ) { request in
            let number = count.change { counts in
                counts["\(request.method)", default: 0] += 1
                return counts["\(request.method)"] ?? 0
            }
            return TestResponse(number == 1 ? .serviceUnavailable : .ok, text: "")
        }
        var policy = RetryPolicy()
        policy.firstDelay = .milliseconds(1)
        let session = try session(root) {
            $0.interceptors = [policy]
            $0.validators = [.status(200..<300)]
        }
        #expect(try await session.data(for: URLRequest("\(server.url)/")).1.statusCode == 200)
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("\(server.url)/", method: "POST", body: "x"))
        }
        #expect(error?.code == .responseRefused)
        #expect(count.value == ["GET": 2, "POST": 1])
        await server.stop()
    }
}
