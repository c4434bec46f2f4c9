import ApproovTesting
import CertificatePinning
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@Suite(.tags(.sockets)) struct CurlEasyHandleTimingsTests {
    private func timings(of site: Site, _ policy: TrustPolicy) async throws -> TransferTimings? {
        let seen = Shared<[TransferTimings]>([])
        var request = TransportRequest(url: try site.url(), policy: policy)
        request.options.onTimings = { timings in seen.change { $0.append(timings) } }
        let response = try await site.transport.send(request)
        _ = try await response.body.collect(upTo: 1 << 20)
        // The timings come before the end of the body.
        #expect(seen.value.count == 1)
        return seen.value.first
    }

    @Test(
        "A first transfer has all phases, and one over the open connection has no look-up, connect and TLS",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func phases(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions)
        // Another policy would have its own connections.
        let policy = try site.policy()
        let first = try #require(try await timings(of: site, policy))
        let parts = [first.nameLookup, first.connect, first.tls].compactMap(\.self)
        #expect(parts.count == 3 && parts.allSatisfy { $0 >= .zero })
        let firstByte = try #require(first.firstByte)
        #expect(parts.reduce(.zero, +) <= firstByte && firstByte <= first.total)
        let second = try #require(try await timings(of: site, policy))
        #expect(second.nameLookup == nil && second.connect == nil && second.tls == nil)
        #expect(second.firstByte != nil && second.total > .zero)
        await site.stop()
    }

    @Test("A transfer that is refused in its handshake has the look-up of the name and no first byte")
    func failure() async throws {
        let site = try await Site.start()
        let seen = Shared<[TransferTimings]>([])
        let pins = [try Pin(String(repeating: "A", count: 43) + "=")]
        var request = TransportRequest(url: try site.url(), policy: try site.policy(pins: pins))
        request.options.onTimings = { timings in seen.change { $0.append(timings) } }
        #expect(await transportError { try await site.transport.send(request) }?.code == .trustRefused)
        #expect(seen.value.count == 1)
        #expect(seen.value.first?.nameLookup != nil && seen.value.first?.firstByte == nil && (seen.value.first?.total ?? .zero) > .zero)
        await site.stop()
    }
}
