import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Logging
import MetricsTestKit
import Testing

@testable import ApproovRelay

/// A relay that listens on loopback during a test, and its client.
struct RunningRelay {
    let url: String
    let transport: CurlTransport
    let logs: LogRecord
    let metrics: TestMetrics

    /// Runs a relay around a body, then shuts it down gracefully and waits for its end.
    static func with(
        gateway: String, pins: [String] = [], roots: String? = nil, limits: RelayConfiguration.Limits = .quick(),
        _ body: (RunningRelay) async throws -> Void
    ) async throws {
        let logs = LogRecord()
        let metrics = TestMetrics()
        let configuration = RelayConfiguration(
            port: 0, gateway: gateway, gatewayPins: pins, gatewayTrustRootsPEM: roots, limits: limits)
        try await RunningService.with(logger: logs.logger) { onReady in
            try Relay(
                configuration: configuration, transport: nil, metrics: RelayMetrics(metrics), logger: logs.logger, onReady: onReady)
        } body: { service in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            try await body(RunningRelay(url: service.url.absoluteString, transport: transport, logs: logs, metrics: metrics))
        }
    }

    var port: Int { URL(string: url)?.port ?? 0 }

    /// Sends a message to the relay, and returns as soon as the response's head arrives.
    func send(
        _ body: RequestBody, type: String = "message/ohttp-req", headers: HTTPFields = [:], path: String = "/",
        method: HTTPRequest.Method = .post, from address: String? = nil
    ) async throws -> TransportResponse {
        var fields = headers
        fields[.contentType] = type
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        var options = TransferOptions()
        options.isIdempotent = false
        options.localAddress = try address.map { try CanonicalHost($0) }
        return try await transport.send(
            TransportRequest(
                url: try TransportURL(url + path), method: method, headerFields: fields, body: body, policy: policy, options: options))
    }

    /// Posts a message and reads the whole response.
    func post(
        _ bytes: [UInt8] = [1, 2, 3], type: String = "message/ohttp-req"
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        let response = try await send(.bytes(bytes), type: type)
        return (response.status, response.headerFields, try await response.body.collect(upTo: 64 << 20))
    }
}

extension TestMetrics {
    /// The number of requests with an outcome, such as "abandoned".
    func count(_ outcome: String) -> Int64 {
        counters.filter { $0.dimensions.contains { $0.1 == outcome } }.map(\.totalValue).reduce(0, +)
    }
}

extension RelayConfiguration.Limits {
    /// The defaults with a short drain time, so that no test waits long for its end.
    static func quick(_ change: (inout Self) -> Void = { _ in }) -> Self {
        var limits = Self()
        limits.drain = .milliseconds(500)
        change(&limits)
        return limits
    }
}

/// A certificate authority and a gateway's certificate below it.
struct GatewayCertificate {
    let root: TestCertificate
    let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["localhost", "127.0.0.1"], issuer: root)
    }

    var pin: String { leaf.key.pin.description }
}
