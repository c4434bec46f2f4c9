import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Logging
import MetricsTestKit
import OHTTP
import Synchronization
import Testing

@testable import ApproovGateway

/// A gateway that listens on loopback during a test, and a client that implements only RFC 9458.
struct RunningGateway {
    /// The gateway's HTTP response to an encapsulated request, still encapsulated.
    struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: [UInt8]
    }

    let url: String
    let directory: TemporaryFolder
    let file: GatewayKeyFile
    let transport: CurlTransport
    let logs: LogRecord
    let metrics: TestMetrics

    /// The client's address, which is not the usual 127.0.0.1, so that a test recognizes it in a log.
    static let clientAddress = "127.0.0.7"

    /// Runs a gateway around a body, then shuts it down gracefully and waits for its end.
    static func with(
        allow: [String], pins: [String: [String]] = [:], roots: String? = nil, time clock: ManualClock? = nil,
        replay: GatewayConfiguration.Replay = .init(), folder: TemporaryFolder? = nil,
        limits: (inout GatewayConfiguration.Limits) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let directory = try folder ?? TemporaryFolder()
        let logs = LogRecord()
        let metrics = TestMetrics()
        let time = GatewayTime(clock)
        let file = GatewayKeyFile(directory.url.appending(path: "keys"), time: time)
        var bounds = GatewayConfiguration.Limits()
        bounds.drain = .milliseconds(500)
        limits(&bounds)
        let configuration = GatewayConfiguration(
            port: 0, allowedOrigins: allow, pins: pins, trustRootsPEM: roots, replay: replay, limits: bounds)
        try await RunningService.with(logger: logs.logger) { onReady in
            let gateway = try Gateway(
                keys: file, configuration: configuration, transport: nil, time: time, metrics: GatewayMetrics(metrics),
                logger: logs.logger, onReady: onReady)
            time.awaitStart()
            return gateway
        } body: { service in
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            try await body(
                RunningGateway(
                    url: service.url.absoluteString, directory: directory, file: file, transport: transport, logs: logs, metrics: metrics))
        }
    }

    /// The number of keys in the key file.
    func keysInFile() throws -> Int { try file.load().entries.count }

    /// Overwrites the key file with content that is not a key.
    func breakKeyFile() throws {
        try PrivateFile(directory.url.appending(path: "keys")).write(Array("{}".utf8))
    }

    /// The published key configurations, which clients encapsulate requests with.
    func keys() async throws -> KeyConfigurationList {
        let response = try await send(.none, path: "/ohttp-keys", method: .get)
        #expect(response.status == 200)
        #expect(response.headerFields[.contentType] == OHTTPMediaType.keys)
        return try KeyConfigurationList(decoding: try await response.body.collect(upTo: 1 << 16))
    }

    /// Sends a request to the gateway itself, or to another server in the same way.
    func send(
        _ body: RequestBody, type: String? = nil, to server: String? = nil, path: String = "/gateway", method: HTTPRequest.Method = .post
    ) async throws -> TransportResponse {
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        var options = TransferOptions()
        options.isIdempotent = false
        options.localAddress = try CanonicalHost(Self.clientAddress)
        return try await transport.send(
            TransportRequest(
                url: try TransportURL((server ?? url) + path), method: method, headerFields: type.map { [.contentType: $0] } ?? [:],
                body: body,
                policy: policy, options: options))
    }

    /// Posts an encapsulated message, and reads the response without opening it.
    func post(_ message: some Sequence<UInt8>, type: String = OHTTPMediaType.request) async throws -> Answer {
        let response = try await send(.bytes([UInt8](message)), type: type)
        return Answer(
            status: response.status, headers: response.headerFields, body: try await response.body.collect(upTo: 64 << 20))
    }

    /// Sends a request to a target through the gateway, encapsulated whole.
    func ask(_ head: HTTPRequest, body: String = "", using key: KeyConfiguration? = nil) async throws -> BinaryHTTPResponse {
        let request = try BinaryHTTPRequest(head: head, body: Data(body.utf8)).encoded(padding: .padme)
        let configuration: KeyConfiguration
        if let key { configuration = key } else { configuration = try await keys().preferred() }
        let sealed = try configuration.encapsulate(request)
        let answer = try await post(sealed.message)
        guard answer.status == 200 else { throw GatewayRefusal(status: answer.status, body: answer.body) }
        #expect(answer.headers[.contentType] == OHTTPMediaType.response)
        #expect(answer.headers[.cacheControl] == "no-store")
        return try BinaryHTTPResponse(decoding: try sealed.response.open(answer.body))
    }
}

/// A gateway's response that is not encapsulated.
struct GatewayRefusal: Error, Equatable {
    let status: Int
    let body: [UInt8]

    /// The response to every message that cannot be opened.
    static let unknownKey = GatewayRefusal(
        status: 400,
        body: Array(
            #"{"type":"https://iana.org/assignments/http-problem-types#ohttp-key","status":400,"title":"The request cannot be opened with a key of this gateway"}"#
                .utf8))
}

extension RunningGateway.Answer {
    var refusal: GatewayRefusal { GatewayRefusal(status: status, body: body) }
}

extension HTTPRequest {
    /// A request for a target on this machine.
    static func to(_ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:]) throws -> HTTPRequest {
        let target = try TransportURL(url)
        let port = target.port == (target.isSecure ? 443 : 80) ? "" : ":\(target.port)"
        return HTTPRequest(
            method: method, scheme: target.isSecure ? "https" : "http", authority: target.host.urlText + port, path: target.target,
            headerFields: fields)
    }
}

extension BinaryHTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// The time of a gateway that starts a second before it serves, because no gateway serves in the second of its start.
private final class GatewayTime: TimeSource {
    private let clock: ManualClock?
    private let offset = Shared(TimeInterval(-1))
    private let awaitsStart = Mutex(false)

    init(_ clock: ManualClock?) { self.clock = clock }

    var date: Date {
        let date = clock?.date ?? Date().addingTimeInterval(offset.value)
        let isStart = awaitsStart.withLock { awaitsStart in
            defer { awaitsStart = false }
            return awaitsStart
        }
        if isStart { passSecond() }
        return date
    }

    var uptime: Duration { clock?.uptime ?? SystemTimeSource().uptime }

    func sleep(for duration: Duration) async throws {
        if let clock { try await clock.sleep(for: duration) } else { try await SystemTimeSource().sleep(for: duration) }
    }

    /// Makes the next date that is read the one of the gateway's start: nothing else reads the time before the gateway runs.
    func awaitStart() { awaitsStart.withLock { $0 = true } }

    private func passSecond() {
        offset.value = 0
        clock?.advance(by: .seconds(1))
    }
}

extension ManualClock {
    /// Lets the gateway check its key file once, and waits until it has done so.
    func passKeyWatch() async {
        await sleepers(atLeast: 1)
        advance(by: ReloadingKeyring.interval)
        await sleepers(atLeast: 1)
    }
}
