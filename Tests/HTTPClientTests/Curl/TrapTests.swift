import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTypes
import TestTags
import Testing

@testable import HTTPClient

/// Traps of libcurl and OpenSSL that have caught other programs, one test each.
///
/// Each trap has a number, C1 to C25. A trap without a test here has one in another suite, whose comment names the number.
///
/// Covers the traps C5, C6, C7, C8, C9, C14, C15 and C17.
@Suite("Traps of libcurl and OpenSSL", .tags(.sockets), .timeLimit(.minutes(5)))
struct TrapTests {
    private func refusal(_ site: Site, host: String = "localhost", _ policy: TrustPolicy) async -> TrustRefusal.Reason? {
        await transportError { try await site.get(host: host, policy: policy) }?.refusal?.reason
    }

    @Test("The client refuses a pinned key in a certificate for another host")
    func otherName() async throws {
        let site = try await Site.start(hosts: ["other.test"])
        #expect(await refusal(site, try site.policy(pins: [site.leaf.pin])) == .hostMismatch)
        #expect(site.server.counters.requests == 0)
        await site.stop()
    }

    @Test("A pinned certificate that is sent but not on the path does not satisfy the pins (CVE-2016-2402)")
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

    @Test("A host with its own roots does not also trust the default roots")
    func ownRoots() async throws {
        let site = try await Site.start()
        let own = try TrustAnchors(pem: TestPKI.root("Own Root").pem)
        let rule = TrustRule(evaluators: [try DefaultTrustEvaluator().anchored(by: own)])
        let policy = TrustPolicy(rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: try site.anchors())
        #expect(await refusal(site, policy) == .incompletePath)
        #expect(await refusal(site, host: "a.site.localhost", policy) == nil)
        await site.stop()
    }

    @Test("The pins hold for every spelling of a host name, and ambiguous spellings are refused")
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

    @Test("The client refuses host names beyond ASCII in the locales C and C.UTF-8")
    func locales() async {
        // In a separate process, because all threads of a process share its locale.
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
        "The library check refuses a libcurl whose active TLS library is not OpenSSL",
        arguments: ["GnuTLS/3.7.9", "(OpenSSL/3.0.19) GnuTLS", ""])
    func otherBackend(backend: String) {
        let library = CurlLibrary(tlsBackend: backend, cryptoVersion: "3.0.19")
        let error = #expect(throws: TransportError.self) { try library.requireTrustHook() }
        #expect(error?.code == .unsupported)
    }

    @Test("The library check refuses a libcurl with a different OpenSSL version, and accepts the linked libcurl")
    func otherOpenSSL() throws {
        let library = CurlLibrary(tlsBackend: "OpenSSL/3.0.19", cryptoVersion: "3.0.20")
        let error = #expect(throws: TransportError.self) { try library.requireTrustHook() }
        #expect(error?.code == .unsupported)
        try CurlLibrary.linked.requireTrustHook()
    }

    @Test("The pins of a host also hold on another port")
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
