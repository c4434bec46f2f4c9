import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import ApproovServer

/// An authority that listens on loopback for the length of a test.
struct RunningAuthority {
    let url: URL
    let store: AuthorityStore
    let port: Int
    private let group: ServiceGroup

    /// Runs an authority around a body, then shuts it down gracefully and waits for its end.
    static func with(
        store: AuthorityStore, configuration: AuthorityConfiguration, time: any TimeSource = SystemTimeSource(),
        _ body: (RunningAuthority) async throws -> Void
    ) async throws {
        let (urls, ready) = AsyncStream.makeStream(of: URL.self)
        let authority = try Authority(store: store, configuration: configuration, time: time, logger: .silent) { ready.yield($0) }
        let group = ServiceGroup(configuration: .init(services: [authority], logger: .silent))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { ready.finish() }
                try await group.run()
            }
            var iterator = urls.makeAsyncIterator()
            guard let url = await iterator.next() else {
                try await tasks.next()
                throw ServerError(code: .invalidConfiguration, message: "the authority ended before it was ready")
            }
            do {
                try await body(RunningAuthority(url: url, store: store, port: try #require(url.port), group: group))
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    func shutDown() async {
        await group.triggerGracefulShutdown()
    }

    /// Sends a request over TLS that is pinned to the authority's keys, as the SDK does.
    func send(
        _ path: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: [UInt8]? = nil, over transport: CurlTransport,
        alsoAsking evaluator: (any ServerTrustEvaluating)? = nil
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8], version: String) {
        let identity = try await store.serverIdentity(hosts: [])
        let anchors = try TrustAnchors(pem: identity.rootPEM)
        let pins = try PublicKeysTrustEvaluator(pins: Set(identity.pins.map { try Pin($0) }))
        let evaluators: [any ServerTrustEvaluating] = [pins] + (evaluator.map { [$0] } ?? [])
        let rules = try HostMap([(try HostPattern("127.0.0.1"), TrustRule(evaluators: evaluators, anchors: anchors))])
        let policy = TrustPolicy(rules: rules, defaultAnchors: anchors)
        let request = TransportRequest(
            url: try TransportURL(url.absoluteString + path), method: method, headerFields: headers, body: body.map { .bytes($0) } ?? .none,
            policy: policy)
        let response = try await transport.send(request)
        return (response.status, response.headerFields, try await response.body.collect(upTo: 1 << 20), "\(response.version)")
    }
}

extension AuthorityConfiguration {
    /// Loopback, a port of the system's choosing.
    static func loopback(
        tls: TLS = .own, attestationsPerMinute: Int? = nil, limits: Limits = Limits(), tokenLifetime: Int = 300
    ) -> AuthorityConfiguration {
        AuthorityConfiguration(
            host: "127.0.0.1", port: 0, tls: tls, tokenLifetime: tokenLifetime, attestationsPerMinute: attestationsPerMinute, limits: limits
        )
    }
}
