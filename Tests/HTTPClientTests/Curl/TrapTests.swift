import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import TestTags
import Testing

@testable import HTTPClient

/// Traps of libcurl and OpenSSL in which others were caught, one test each.
///
/// Each trap has a number, C1 to C25. A trap without a test here has one where its subject is tested: the comments of the suites name them.
///
/// Covers C5, C6, C7, C8, C9, C14, C15, C17 of the list of traps.
@Suite("Traps of libcurl and OpenSSL", .tags(.sockets), .timeLimit(.minutes(5)))
struct TrapTests {
    private func refusal(_ site: Site, host: String = "localhost", _ policy: TrustPolicy) async -> TrustRefusal.Reason? {
        await transportError { try await site.get(host: host, policy: policy) }?.refusal?.reason
    }

    @Test("a pinned key under another host's name is refused")
    func otherName() async throws {
        let site = try await Site.start(hosts: ["other.test"])
        #expect(await refusal(site, try site.policy(pins: [site.leaf.pin])) == .hostMismatch)
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("a pinned certificate that is only sent along is not on the path (CVE-2016-2402)")
    func appended() async throws {
        let root = try TestPKI.root()
        let victim = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let impostor = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let server = try await TestHTTPServer.start(certificate: impostor, chainPEM: impostor.chainPEM(appending: [victim])) { _ in
            TestResponse()
        }
        let site = Site(root: root, leaf: impostor, server: server, transport: try CurlTransport())
        #expect(await refusal(site, try site.policy(pins: [victim.pin])) == .pinMismatch)
        #expect(await refusal(site, try site.policy(pins: [impostor.pin])) == nil)
        await site.stop()
    }

    @Test("a host with its own roots does not trust the usual ones besides")
    func ownRoots() async throws {
        let site = try await Site.start()
        let own = try TrustAnchors(pem: TestPKI.root("Own Root").pem)
        let rule = TrustRule(evaluators: [try DefaultTrustEvaluator().anchored(by: own)])
        let policy = TrustPolicy(rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: try site.anchors())
        #expect(await refusal(site, policy) == .incompletePath)
        #expect(await refusal(site, host: "a.site.localhost", policy) == nil)
        await site.stop()
    }

    @Test("every spelling of a pinned name has its pins")
    func spellings() async throws {
        let site = try await Site.start(hosts: ["good.localhost"])
        let policy = try site.policy(host: "good.localhost", pins: [Pin(spki: [1])])
        for host in ["good.localhost", "GOOD.localhost", "good.localhost.", "Good.LocalHost."] {
            #expect(await refusal(site, host: host, policy) == .pinMismatch, "\(host)")
        }
        for host in ["g%6Fod.localhost", "other@good.localhost", "good.localhost..", "good\u{3002}localhost"] {
            #expect(await transportError { try await site.get(host: host, policy: policy) }?.code == .invalidURL, "\(host)")
        }
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("names beyond ASCII are refused in every locale, so that none decides what they mean")
    func locales() async {
        // In a separate process: the locale is shared by all threads of this one.
        await #expect(processExitsWith: .success) {
            for locale in ["C", "C.UTF-8"] {
                try #require(setlocale(LC_ALL, locale) != nil)
                for host in ["\u{FF47}ood.test", "b\u{FC}cher.test", "xn--bcher-kva.test\u{3002}"] {
                    try #require(throws: TransportError.self, "\(locale) \(host)") { try TransportURL("https://\(host)/") }
                }
                try #require(TransportURL("https://xn--bcher-kva.test/").host.name == "xn--bcher-kva.test")
            }
        }
    }

    @Test(
        "a libcurl without OpenSSL is refused before there is a transport",
        arguments: ["GnuTLS/3.7.9", "(OpenSSL/3.0.19) GnuTLS", ""])
    func otherBackend(backend: String) {
        let library = CurlLibrary(tlsBackend: backend, cryptoVersion: "3.0.19")
        let error = #expect(throws: TransportError.self) { try library.requireTrustHook() }
        #expect(error?.code == .unsupported)
    }

    @Test("a libcurl with another OpenSSL than the program's is refused, and the linked one is the program's")
    func otherOpenSSL() throws {
        let library = CurlLibrary(tlsBackend: "OpenSSL/3.0.19", cryptoVersion: "3.0.20")
        let error = #expect(throws: TransportError.self) { try library.requireTrustHook() }
        #expect(error?.code == .unsupported)
        try CurlLibrary.linked.requireTrustHook()
    }

    @Test("another port of a pinned host is pinned, too")
    func otherPort() async throws {
        let site = try await Site.start()
        let impostor = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: site.root)) { _ in
            TestResponse()
        }
        let policy = try site.policy(pins: [site.leaf.pin])
        #expect(try await site.get(policy: policy).0.status == 200)
        let url = try TransportURL("https://localhost:\(impostor.port)/")
        let error = await transportError { try await site.transport.send(TransportRequest(url: url, policy: policy)) }
        #expect(error?.refusal?.reason == .pinMismatch)
        #expect(impostor.counters.requests == 0)
        await impostor.stop()
        await site.stop()
    }
}
