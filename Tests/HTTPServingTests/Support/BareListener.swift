import ApproovTesting
import Foundation
import HTTPServing
import Hummingbird
import Logging
import ServiceLifecycle

/// A listener on loopback with only the routes that its tests need.
struct BareListener: Service {
    let address: ListenerAddress
    let limits: ListenerLimits
    let proxies: [AddressRange]
    /// "begun", then the size of the body or "failed", for requests to "/note"; "begun" and "cancelled" for requests to "/hang";
    /// "answered", then "finished" or "cancelled", for requests to "/late", which go on until the test adds "go".
    let notes: Shared<[String]>
    let onReady: @Sendable (URL) async -> Void

    func run() async throws {
        let router = Router(context: ConnectionContext.self, options: .autoGenerateHeadEndpoints)
        router.middlewares.add(PlainErrors(methods: ["/health": "GET", "/length": "POST"]))
        router.get("health") { _, _ in Response.healthy }
        router.get("stream") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "streamed"))
                    try await writer.finish(nil)
                })
        }
        router.get("break") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "a part"))
                    throw CancellationError()
                })
        }
        router.post("length") { request, _ in "\(try await request.body.collect(upTo: 1 << 20).readableBytes)" }
        router.post("note") { request, _ in
            notes.change { $0.append("begun") }
            let size = try? await request.body.collect(upTo: 1 << 20).readableBytes
            notes.change { $0.append(size.map { "\($0)" } ?? "failed") }
            return "noted"
        }
        router.post("hang") { _, _ -> String in
            notes.change { $0.append("begun") }
            do {
                // Long enough for the slowest machine, and a test without a cancellation fails after it.
                try await Task.sleep(for: .seconds(60))
            } catch {
                notes.change { $0.append("cancelled") }
            }
            return "over"
        }
        router.post("late") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody(contentLength: 2) { writer in
                    try await writer.write(ByteBuffer(string: "ok"))
                    try await writer.finish(nil)
                    notes.change { $0.append("answered") }
                    do {
                        while !notes.value.contains("go") { try await Task.sleep(for: .milliseconds(5)) }
                        notes.change { $0.append("finished") }
                    } catch {
                        notes.change { $0.append("cancelled") }
                    }
                })
        }
        router.post("pause") { _, _ in
            try await Task.sleep(for: .milliseconds(500))
            return "paused"
        }
        router.get("address") { _, context in context.remoteAddress?.ipAddress ?? "none" }
        router.get("loop") { _, context in "\(context.eventLoop.inEventLoop)" }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await HTTPListener(address: address, limits: limits, proxies: proxies).run(router: router, logger: logger) { port in
            if let url = URL(string: address.url(port: port)) { await onReady(url) }
        }
    }

    /// Runs a listener while `body` runs, which gets its port.
    static func with(
        certificate: TestCertificate? = nil, proxies: [String] = [], notes: Shared<[String]> = Shared([]),
        _ change: (inout ListenerLimits) -> Void = { _ in },
        _ body: (Int) async throws -> Void
    ) async throws {
        var limits = ListenerLimits(requestTimeout: .seconds(30), drain: .milliseconds(500))
        change(&limits)
        let tls = try certificate.map { try ListenerAddress.tls(certificatePEM: $0.chainPEM, keyPEM: $0.privateKeyPEM) }
        let address = ListenerAddress(host: "127.0.0.1", port: 0, tls: tls)
        try await RunningService.with { onReady in
            BareListener(address: address, limits: limits, proxies: try AddressRange.all(proxies), notes: notes, onReady: onReady)
        } body: {
            try await body($0.port)
        }
    }

    /// Whether the server still answers another client.
    static func isHealthy(_ port: Int) async throws -> Bool {
        try await answer(to: "GET /health", port: port).hasPrefix("HTTP/1.1 200")
    }

    /// The whole answer to a request without a body.
    static func answer(to line: String, port: Int) async throws -> String {
        let client = try RawClient(port: port)
        client.write("\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await client.readToEnd().text
    }
}
