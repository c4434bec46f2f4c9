import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Synchronization
import TestTags
import Testing

// Acceptance list: S2.71, S2.76, S3.42, S3.44
/// Covers the traps C1, C2, C3, C4, C13 and C16; see `TrapTests`.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct TrustHookTests {
    @Test("The client accepts a pinned leaf, and a pinned root that the server did not send")
    func pinned() async throws {
        let site = try await Site.start()
        for pin in [site.leaf.pin, site.root.pin] {
            let (response, _) = try await site.get(policy: site.policy(pins: [pin, Pin(spki: [1])]))
            #expect(response.status == 200)
        }
        await site.stop()
    }

    @Test("The client refuses an unpinned key before it sends a request, and the error names both pins")
    func mismatch() async throws {
        let site = try await Site.start()
        let wanted = Pin(spki: [1, 2, 3])
        let error = await transportError { try await site.get(policy: site.policy(pins: [wanted])) }
        #expect(error?.code == .trustRefused)
        #expect(error?.refusal?.reason == .pinMismatch)
        #expect(error?.description.contains(wanted.description) == true)
        #expect(error?.description.contains(site.leaf.pin.description) == true)
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("The client refuses an untrusted certificate authority even if the pin matches")
    func untrusted() async throws {
        let site = try await Site.start()
        let other = try TestPKI.root("Other Root")
        let rule = TrustRule(evaluators: [try PublicKeysTrustEvaluator(withoutBackup: [site.leaf.pin])])
        let policy = TrustPolicy(
            rules: try HostMap([(try HostPattern("localhost"), rule)]), defaultAnchors: try TrustAnchors(pem: other.pem))
        #expect(await transportError { try await site.get(policy: policy) }?.refusal != nil)
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test(
        "A pooled connection never serves a new policy, not even an equal one", arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func generations(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions)
        _ = try await site.get(policy: site.policy(pins: [site.leaf.pin]))
        #expect(site.server.counters.handshakes == 1)
        let error = await transportError { try await site.get(policy: site.policy(pins: [Pin(spki: [9])])) }
        #expect(error?.refusal?.reason == .pinMismatch)
        #expect(site.server.counters.requests == 1)
        // An equal policy is a new generation as well, and gets its own connection.
        _ = try await site.get(policy: site.policy(pins: [site.leaf.pin]))
        #expect(site.server.counters.connections == 3)
        await site.stop()
    }

    @Test("The evaluator runs in every handshake, because sessions are not resumed")
    func noResumption() async throws {
        let site = try await Site.start(versions: .http1)
        let count = Counter()
        let rule = TrustRule(evaluators: [CountingEvaluator(counter: count)])
        let policy = TrustPolicy(rules: try HostMap([(try HostPattern("localhost"), rule)]), defaultAnchors: try site.anchors())
        for _ in 0..<5 {
            _ = try await site.get(policy: policy)
            site.server.closeConnections()
        }
        #expect(site.server.counters.handshakes == 5)
        #expect(count.value == 5)
        await site.stop()
    }

    @Test("A server that can resume sessions reports a new session for every connection", arguments: ["-tls1_2", "-tls1_3"])
    func noResumptionAsked(version: String) async throws {
        let root = try TestPKI.root()
        let server = try await StaplingServer.start(TestPKI.leaf(hosts: ["localhost"], issuer: root), staple: nil, version: version)
        let count = Counter()
        let rule = TrustRule(evaluators: [CountingEvaluator(counter: count)])
        let policy = TrustPolicy(
            rules: try HostMap([(try HostPattern("localhost"), rule)]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        for number in 1...3 {
            let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
            let page = String(decoding: try await transport.send(request).body.collect(upTo: 1 << 20), as: UTF8.self)
            // openssl s_server -www: "New, TLSv1.2, Cipher is …", or "Reused, …".
            #expect(page.contains("New, TLS") && !page.contains("Reused"), "\(page)")
            #expect(count.value == number)
        }
        transport.shutdown()
    }

    @Test("The client evaluates two hosts on one address separately")
    func twoHosts() async throws {
        let site = try await Site.start()
        let (one, two) = (Counter(), Counter())
        let rules = [
            (try HostPattern("a.site.localhost"), TrustRule(evaluators: [CountingEvaluator(counter: one)])),
            (try HostPattern("b.site.localhost"), TrustRule(evaluators: [CountingEvaluator(counter: two)])),
        ]
        let policy = TrustPolicy(rules: try HostMap(rules), defaultAnchors: try site.anchors())
        _ = try await site.get(host: "a.site.localhost", policy: policy)
        _ = try await site.get(host: "b.site.localhost", policy: policy)
        _ = try await site.get(host: "A.site.localhost.", policy: policy)
        #expect(one.value == 1)
        #expect(two.value == 1)
        await site.stop()
    }

    @Test("A disabled evaluator for one host does not weaken the pins of another")
    func disabledBesidePinned() async throws {
        let site = try await Site.start()
        let rules = [
            (try HostPattern("a.site.localhost"), TrustRule(evaluators: [DisabledTrustEvaluator()])),
            (try HostPattern("b.site.localhost"), TrustRule(evaluators: [try PublicKeysTrustEvaluator(withoutBackup: [Pin(spki: [1])])])),
        ]
        let policy = TrustPolicy(
            rules: try HostMap(rules), defaultAnchors: try TrustAnchors(pem: TestPKI.root("Unrelated").pem))
        let refused = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    if number.isMultiple(of: 2) {
                        _ = try await site.get(host: "a.site.localhost", policy: policy)
                    } else if await transportError({ try await site.get(host: "b.site.localhost", policy: policy) })?.refusal != nil {
                        refused.add()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(refused.value == 500)
        #expect(site.server.counters.requests == 500)
        await site.stop()
    }

    @Test("The pins of an IP address hold for its other spellings, or the spelling is refused")
    func addressForms() async throws {
        let site = try await Site.start()
        let policy = try site.policy(host: "127.0.0.1", pins: [Pin(spki: [1])])
        for host in ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]", "0177.0.0.1"] {
            let error = await transportError { try await site.get(host: host, policy: policy) }
            #expect(error?.code == .trustRefused || error?.code == .invalidURL, "\(host)")
        }
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("The client never calls a host with a rule over plain HTTP")
    func noPlainHTTP() async throws {
        let plain = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "plain") }
        let site = try await Site.start()
        let url = try TransportURL("http://localhost:\(plain.port)/")
        let error = await transportError {
            try await site.transport.send(TransportRequest(url: url, policy: try site.policy(pins: [site.leaf.pin])))
        }
        #expect(error?.code == .trustRefused)
        #expect(plain.counters.connections == 0)
        let response = try await site.transport.send(TransportRequest(url: url, policy: try site.policy()))
        #expect(try await response.body.collect(upTo: 10) == Array("plain".utf8))
        await plain.stop()
        await site.stop()
    }

    @Test("A request cancelled during a slow evaluation never reaches the server and crashes nothing")
    func slowEvaluator() async throws {
        let site = try await Site.start(versions: .http1)
        let evaluator = SlowEvaluator()
        let rule = TrustRule(evaluators: [evaluator])
        let policy = TrustPolicy(rules: try HostMap([(try HostPattern("localhost"), rule)]), defaultAnchors: try site.anchors())
        let task = Task { try await site.get(policy: policy) }
        try #require(await eventually { evaluator.begun.value == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        evaluator.isAwaited.value = false
        // Waits for the end of the connection, after which no request can arrive.
        try #require(await eventually { evaluator.ended.value == 1 && site.server.counters.open == 0 })
        #expect(site.server.counters.handshakes <= 1)
        #expect(site.server.counters.requests == 0)
        // The control: a caller that waits for the evaluator gets the response.
        #expect(try await site.get(policy: policy).1 == "hello")
        #expect(site.server.counters.requests == 1)
        await site.stop()
    }
}

/// Counts calls.
final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}

private struct CountingEvaluator: ServerTrustEvaluating {
    let counter: Counter

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        counter.add()
        return .trusted
    }
}

private struct SlowEvaluator: ServerTrustEvaluating {
    let begun = Counter()
    let ended = Counter()
    /// Whether `evaluate` keeps waiting; the test clears it to let `evaluate` return.
    let isAwaited = Shared(true)

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        begun.add()
        // An evaluator must not block like this; if it does, the client must still fail closed.
        for _ in 0..<20_000 where isAwaited.value { usleep(1_000) }
        ended.add()
        return .trusted
    }
}
