import ApproovAuthority
import ApproovBase
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Logging
import Testing

/// An authority that listens on loopback during a test.
struct RunningAuthority {
    let store: AuthorityStore
    private let service: RunningService

    var url: URL { service.url }
    var port: Int { service.port }

    /// Runs an authority around a body, then shuts it down gracefully and waits for its end.
    static func with(
        store: AuthorityStore, configuration: AuthorityConfiguration, time: any TimeSource = SystemTimeSource(),
        _ body: (RunningAuthority) async throws -> Void
    ) async throws {
        try await RunningService.with { onReady in
            try Authority(store: store, configuration: configuration, time: time, logger: .silent, onReady: onReady)
        } body: {
            try await body(RunningAuthority(store: store, service: $0))
        }
    }

    /// Asks the authority to stop, and does not wait for its end.
    func beginStop() async { await service.beginStop() }

    /// A policy with pins for the authority's keys, as the SDK has; requests share connections only under the same one.
    func policy(alsoAsking evaluator: (any ServerTrustEvaluating)? = nil) async throws -> TrustPolicy {
        let identity = try await store.serverIdentity(hosts: [])
        let anchors = try TrustAnchors(pem: identity.rootPEM)
        let pins = try PublicKeysTrustEvaluator(pins: Set(identity.pins.map { try Pin($0) }))
        let evaluators: [any ServerTrustEvaluating] = [pins] + (evaluator.map { [$0] } ?? [])
        let rules = try HostMap([(try HostPattern("127.0.0.1"), TrustRule(evaluators: evaluators, anchors: anchors))])
        return TrustPolicy(rules: rules, defaultAnchors: anchors)
    }

    /// Sends a request over TLS, under a new policy if none is given.
    func send(
        _ path: String, method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: [UInt8]? = nil,
        stream: RequestBodyStream? = nil, over transport: CurlTransport, under given: TrustPolicy? = nil,
        alsoAsking evaluator: (any ServerTrustEvaluating)? = nil
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8], version: String) {
        let policy = if let given { given } else { try await policy(alsoAsking: evaluator) }
        let content = stream.map { RequestBody.stream(length: nil, $0) } ?? body.map { .bytes($0) } ?? .none
        let request = TransportRequest(
            url: try TransportURL(url.absoluteString + path), method: method, headerFields: headers, body: content, policy: policy)
        let response = try await transport.send(request)
        return (response.status, response.headerFields, try await response.body.collect(upTo: 1 << 20), "\(response.version)")
    }
}

extension AuthorityConfiguration {
    /// A configuration for loopback, with a port that the system chooses.
    static func loopback(
        tls: TLS = .own, attestationsPerMinute: Int? = nil, limits: Limits = Limits(), tokenLifetime: Int = 300
    ) -> AuthorityConfiguration {
        AuthorityConfiguration(
            host: "127.0.0.1", port: 0, tls: tls, tokenLifetime: tokenLifetime, attestationsPerMinute: attestationsPerMinute, limits: limits
        )
    }
}
