import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import Synchronization
import TestTags
import Testing

@testable import HTTPClient

@Suite("Look-ups between two handshakes", .tags(.sockets, .slow), .timeLimit(.minutes(5)))
struct LookupTests {
    @Test("The client fetches the OCSP response that the evaluator needs, connects again, and reuses it later")
    func good() async throws {
        let site = try await RevocationSite.start()
        site.answer(try TestPKI.ocspResponse(for: site.leaf))
        let policy = try site.policy()
        #expect(try await site.text(site.request(policy)) == "hello ")
        let question = try #require(site.answers.questions.first)
        #expect(question.method == .post && question.target == "/ocsp")
        #expect(question.headerFields[.contentType] == "application/ocsp-request")
        #expect(question.headerFields[.userAgent] == nil && question.headerFields[.cookie] == nil)
        #expect(site.server.counters.requests == 1)
        site.server.closeConnections()
        #expect(try await site.text(site.request(policy)) == "hello ")
        #expect(site.answers.questions.count == 1)
        await site.stop()
    }

    @Test("A look-up goes through the proxy of the request that waits for it")
    func overProxy() async throws {
        let targets = Targets()
        let proxy = try await TestHTTPServer.start(certificate: nil) { request in
            targets.add(request.target)
            return TestResponse(headerFields: [.contentType: "application/pkix-crl"], body: [1, 2, 3])
        }
        let transport = try CurlTransport()
        let policy = TrustPolicy(rules: HostMap(), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        let configuration = ProxyConfiguration(kind: .http, host: try CanonicalHost("127.0.0.1"), port: proxy.port)
        // Only the proxy can answer: the name has no address (RFC 6761, section 6.4).
        let lookup = TrustLookup(kind: .crl, url: "http://crl.invalid/list")
        let bytes = try await HTTPLookupFetcher(transport: transport, policy: policy).fetch(lookup, proxy: configuration)
        #expect(bytes == [1, 2, 3])
        #expect(targets.all == ["/list"])
        transport.shutdown()
        await proxy.stop()
    }

    private final class Targets: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }
        func add(_ target: String) { list.withLock { $0.append(target) } }
    }

    @Test("The client refuses a revoked server each time after one look-up, and sends it no request")
    func revoked() async throws {
        let site = try await RevocationSite.start()
        site.answer(try TestPKI.ocspResponse(for: site.leaf, status: .revoked))
        let policy = try site.policy()
        for _ in 0..<2 {
            let error = await transportError { try await site.transport.send(site.request(policy)) }
            #expect(error?.refusal?.reason == .revoked)
        }
        #expect(site.server.counters.requests == 0)
        #expect(site.answers.questions.count == 1)
        await site.stop()
    }

    @Test("The client refuses a server if the OCSP answer is unusable, and follows no redirect of the responder")
    func bad() async throws {
        let site = try await RevocationSite.start()
        let good = try TestPKI.ocspResponse(for: site.leaf)
        let other = try TestPKI.leaf(hosts: ["localhost"], issuer: site.root)
        let foreign = try TestPKI.ocspResponse(for: other)
        let elsewhere = try await TestHTTPServer.start(certificate: nil) { _ in
            TestResponse(headerFields: [.contentType: "application/ocsp-response"], body: good)
        }
        let url = elsewhere.url
        let handlers: [(String, RevocationSite.Answers.Handler)] = [
            ("error", { _ in TestResponse(.internalServerError) }),
            ("type", { _ in TestResponse(headerFields: [.contentType: "text/html"], body: good) }),
            ("garbage", { _ in TestResponse(headerFields: [.contentType: "application/ocsp-response"], body: [1, 2, 3]) }),
            ("empty", { _ in TestResponse(headerFields: [.contentType: "application/ocsp-response"]) }),
            (
                "large",
                { _ in
                    TestResponse(
                        headerFields: [.contentType: "application/ocsp-response"],
                        body: good + [UInt8](repeating: 0, count: HTTPLookupFetcher.maximumOCSPBytes))
                }
            ),
            ("other", { _ in TestResponse(headerFields: [.contentType: "application/ocsp-response"], body: foreign) }),
            ("redirect", { _ in TestResponse(.found, headerFields: [.location: url, .contentType: "application/ocsp-response"]) }),
        ]
        for (name, handler) in handlers {
            site.answers.set(handler)
            let error = await transportError { try await site.transport.send(site.request(site.policy())) }
            #expect(error?.refusal?.reason == .revocationUnknown, "\(name): \(String(describing: error))")
        }
        #expect(elsewhere.counters.connections == 0)
        #expect(site.server.counters.requests == 0)
        // The control: the response that was refused only for its size is accepted without the padding.
        site.answer(good)
        #expect(try await site.text(site.request(site.policy())) == "hello ")
        await elsewhere.stop()
        await site.stop()
    }

    @Test("The client refuses a CRL above the size limit, and the error mentions OCSP")
    func largeList() async throws {
        let site = try await RevocationSite.start(names: { TestRevocation(crl: $0 + "/crl") })
        let evaluator = { RevocationTrustEvaluator(sources: .crl) }
        site.answer([UInt8](repeating: 0, count: HTTPLookupFetcher.maximumCRLBytes + 1), type: "application/pkix-crl")
        let error = await transportError { try await site.transport.send(site.request(site.policy(evaluator()))) }
        #expect(error?.refusal?.reason == .revocationUnknown)
        #expect(error?.description.contains("larger than 1048576 bytes") == true)
        #expect(error?.description.contains("OCSP") == true)
        site.answer(try TestPKI.revocationList(of: site.root), type: "application/pkix-crl")
        #expect(try await site.text(site.request(site.policy(evaluator()))) == "hello ")
        await site.stop()
    }

    @Test("The next requests do not repeat a look-up whose answer was unusable")
    func keptProblem() async throws {
        let site = try await RevocationSite.start()
        site.answer([1, 2, 3])
        let policy = try site.policy()
        for _ in 0..<3 {
            let error = await transportError { try await site.transport.send(site.request(policy)) }
            #expect(error?.refusal?.reason == .revocationUnknown)
        }
        #expect(site.answers.questions.count == 1)
        await site.stop()
    }

    @Test("A missing responder stops the request if the check fails hard, but not if it fails soft")
    func absent() async throws {
        // That of a server that was stopped could be another test's by now.
        let port = try RefusingPort()
        let site = try await RevocationSite.start(names: { _ in TestRevocation(ocsp: "http://localhost:\(port.number)/ocsp") })
        let error = await transportError { try await site.transport.send(site.request(site.policy())) }
        #expect(error?.refusal?.reason == .revocationUnknown)
        // On a busy machine the look-up of the name may take longer than connecting may.
        let text = error?.description ?? ""
        #expect(text.contains("connectionFailed") || text.contains("connectTimeout"), "\(text)")
        let soft = try site.policy(RevocationTrustEvaluator(sources: .ocsp, failure: .soft))
        #expect(try await site.text(site.request(soft)) == "hello ")
        await site.stop()
        withExtendedLifetime(port) {}
    }

    @Test("A responder that never answers delays no other request, and the look-up times out")
    func slow() async throws {
        var configuration = CurlTransportConfiguration()
        configuration.lookupTimeout = .seconds(3_600)
        let site = try await RevocationSite.start(configuration: configuration)
        site.answers.set { _ in try await waitForCancellation() }
        let policy = try site.policy()
        let waiting = Task { try await site.transport.send(site.request(policy)) }
        try #require(await eventually { !site.answers.questions.isEmpty })
        for _ in 0..<5 { #expect(try await site.text(site.request(policy, host: "other.site.localhost")) == "hello ") }
        #expect(site.transport.lookups.waiterCount == 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }

        configuration.lookupTimeout = .milliseconds(50)
        let impatient = try CurlTransport(configuration: configuration)
        let error = await transportError { try await impatient.send(site.request(policy)) }
        #expect(error?.refusal?.reason == .revocationUnknown)
        #expect(error?.description.contains("no answer within") == true)
        impatient.shutdown()
        await site.stop()
    }

    @Test("Concurrent requests share one look-up", arguments: [TestHTTPServer.Versions.http1, .http1AndHTTP2])
    func together(versions: TestHTTPServer.Versions) async throws {
        let site = try await RevocationSite.start(versions: versions)
        let good = try TestPKI.ocspResponse(for: site.leaf)
        let gate = Gate()
        site.answers.set { _ in
            try await gate.wait()
            return TestResponse(headerFields: [.contentType: "application/ocsp-response"], body: good)
        }
        let policy = try site.policy()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<32 { group.addTask { try await site.text(site.request(policy)) } }
            // With HTTP/2, libcurl makes requests wait for the first connection, so some come after the look-up has ended.
            try #require(
                await eventually {
                    let count = site.transport.lookups.waiterCount
                    return versions == .http1 ? count == 32 : count >= 1
                })
            gate.open()
            for try await text in group { #expect(text == "hello ") }
        }
        #expect(site.answers.questions.count == 1)
        #expect(site.server.counters.requests == 32)
        await site.stop()
    }

    @Test(
        "A host behind three servers with different certificates is reached by the second request, with the answers that the first one got")
    func threeServers() async throws {
        /// Judges as if each connection reached the next one of three servers.
        struct Rotating: ServerTrustEvaluating {
            let server: TestHTTPServer

            func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
                let lookup = TrustLookup(kind: .ocsp, url: "http://ocsp.test/\(server.counters.connections % 3)")
                return trust.lookupResults[lookup] == nil ? .needs([lookup]) : .trusted
            }
        }
        final class Fetcher: TrustLookupFetching {
            private let asked = Mutex<[String]>([])
            var urls: [String] { asked.withLock { $0 } }

            func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] {
                asked.withLock { $0.append(lookup.url) }
                return [1]
            }
        }
        let fetcher = Fetcher()
        var configuration = CurlTransportConfiguration()
        configuration.lookupFetcher = fetcher
        let site = try await RevocationSite.start(configuration: configuration)
        let request = try site.request(site.policy(Rotating(server: site.server)))
        let error = await transportError { try await site.transport.send(request) }
        #expect(error?.refusal?.reason == .lookupsUnavailable)
        #expect(error?.refusal?.detail.contains("send the request again") == true)
        #expect(site.server.counters.connections == 3)
        #expect(try await site.text(request) == "hello ")
        #expect(fetcher.urls == (1...2).map { "http://ocsp.test/\($0)" })
        #expect(site.server.counters.connections == 4)
        await site.stop()
    }

    @Test("A request that waits for a look-up ends with its group's error when that is cancelled, and with the transport")
    func endedFromOutside() async throws {
        struct Ended: Error {}
        struct Silent: TrustLookupFetching {
            func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] { try await waitForCancellation() }
        }
        var configuration = CurlTransportConfiguration()
        configuration.lookupFetcher = Silent()
        configuration.lookupTimeout = .seconds(3_600)
        let site = try await RevocationSite.start(configuration: configuration)
        let group = TransferGroup()
        var request = try site.request(site.policy())
        request.options.idleTimeout = .seconds(7_200)
        request.options.group = group
        let waiting = Task { [request] in try await site.transport.send(request) }
        try #require(await eventually { site.transport.lookups.waiterCount == 1 })
        group.cancel(with: Ended())
        site.transport.cancel(group)
        await #expect(throws: Ended.self) { try await waiting.value }
        request.options.group = nil
        let other = Task { [request] in try await site.transport.send(request) }
        try #require(await eventually { site.transport.lookups.waiterCount == 1 })
        site.transport.shutdown()
        #expect(await transportError { try await other.value }?.code == .shutDown)
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("A POST whose body is a stream is sent once, after the look-up")
    func streamed() async throws {
        let site = try await RevocationSite.start()
        site.answer(try TestPKI.ocspResponse(for: site.leaf))
        var request = try site.request(site.policy())
        request.method = .post
        let content = AsyncStream<[UInt8]> { continuation in
            for part in ["one ", "two"] { continuation.yield(Array(part.utf8)) }
            continuation.finish()
        }
        request.body = .stream(length: nil, RequestBodyStream(content))
        #expect(try await site.text(request) == "hello one two")
        #expect(site.server.counters.requests == 1)
        await site.stop()
    }

    @Test("A request cancelled during its look-up ends at once, and the total timeout includes the look-up")
    func ends() async throws {
        let site = try await RevocationSite.start()
        site.answers.set { _ in try await waitForCancellation() }
        let task = Task { try await site.transport.send(site.request(site.policy())) }
        try #require(await eventually { !site.answers.questions.isEmpty })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        var request = try site.request(site.policy())
        request.options.totalTimeout = .seconds(1)
        let code = await transportError { try await site.transport.send(request) }?.code
        #expect(code == .totalTimeout)
        await site.stop()
    }

    @Test("The client uses the caller's fetcher in place of the default one, and gives up on one that never answers")
    func ownFetcher() async throws {
        struct Fetcher: TrustLookupFetching {
            let response: @Sendable () async throws -> [UInt8]
            func fetch(_ lookup: TrustLookup, proxy: ProxyConfiguration?) async throws -> [UInt8] { try await response() }
        }
        let site = try await RevocationSite.start()
        let good = try TestPKI.ocspResponse(for: site.leaf)
        let gate = Gate()
        var configuration = CurlTransportConfiguration()
        configuration.lookupFetcher = Fetcher { good }
        let own = try CurlTransport(configuration: configuration)
        #expect(try await own.send(site.request(site.policy())).status == 200)
        #expect(site.answers.questions.isEmpty)
        configuration.lookupTimeout = .milliseconds(200)
        configuration.lookupFetcher = Fetcher {
            // Ignores cancellation.
            await Task.detached { try? await gate.wait() }.value
            return good
        }
        let stuck = try CurlTransport(configuration: configuration)
        #expect(await transportError { try await stuck.send(site.request(site.policy())) }?.refusal?.reason == .revocationUnknown)
        gate.open()
        own.shutdown()
        stuck.shutdown()
        await site.stop()
    }

    @Test("An evaluator that always needs more look-ups causes one refusal, reported once to the observer", arguments: [true, false])
    func insatiable(requestsStatus: Bool) async throws {
        struct Insatiable: ServerTrustEvaluating {
            let conditions: TrustConditions
            func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
                .needs([TrustLookup(kind: .crl, url: "http://localhost:1/\(trust.lookupResults.count)")])
            }
        }
        let site = try await RevocationSite.start()
        var conditions = TrustConditions()
        conditions.requestsStatus = requestsStatus
        let told = Mutex<[TrustViolation]>([])
        let rule = TrustRule(evaluators: [Insatiable(conditions: conditions)]) { violation in told.withLock { $0.append(violation) } }
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: try TrustAnchors(pem: site.root.pem))
        let error = await transportError { try await site.transport.send(site.request(policy)) }
        #expect(error?.refusal?.reason == .lookupsUnavailable)
        #expect(told.withLock { $0.map(\.refusal.reason) } == [.lookupsUnavailable])
        #expect(told.withLock { $0.allSatisfy { $0.isEnforced && !$0.certificates.isEmpty } })
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("The client makes no look-up for a server that the pins refuse")
    func refusedFirst() async throws {
        let site = try await RevocationSite.start()
        let pins = try PublicKeysTrustEvaluator(withoutBackup: [Pin(spki: [1])])
        for evaluators in [[RevocationTrustEvaluator(), pins] as [any ServerTrustEvaluating], [pins, RevocationTrustEvaluator()]] {
            let policy = TrustPolicy(
                rules: try HostMap([(HostPattern("localhost"), TrustRule(evaluators: evaluators))]),
                defaultAnchors: try TrustAnchors(pem: site.root.pem))
            #expect(await transportError { try await site.transport.send(site.request(policy)) }?.refusal?.reason == .pinMismatch)
        }
        #expect(site.responder.counters.connections == 0)
        await site.stop()
    }
}
