import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import MetricsTestKit
import OHTTP
import TestTags
import Testing

@testable import ApproovGateway

/// What a gateway counts when requests travel over real sockets.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct GatewayMetricsTests {
    @Test("The gateway counts each outcome once and records nothing else, in particular no address, target or content")
    func outcomes() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            if request.path == "/endless" { return TestResponse(length: nil) { _ in [UInt8](repeating: 0, count: 65_536) } }
            return TestResponse(text: "ok")
        }
        let silent = try await RawServer.start { _ in }
        let silentURL = "http://127.0.0.1:\(silent.port)"
        try await RunningGateway.with(allow: [target.url, silentURL]) { (gateway) async throws in
            let marked = HTTPFields(dictionaryLiteral: (.cookie, "marker"))
            let message = try await gateway.keys().preferred()
                .encapsulate(BinaryHTTPRequest(head: .to("\(target.url)/marker", fields: marked)).encoded()).message
            #expect(try await gateway.post(message).status == 200)
            _ = try await gateway.askInChunks(.to(target.url, fields: marked))
            #expect(gateway.counts == ["answered": 2])
            #expect(try await gateway.post(message).status == 400)
            #expect(gateway.counts == ["answered": 2, "replayed": 1])
            #expect(try await gateway.post([1, 2, 3]).status == 400)
            #expect(try await gateway.post([1, 2, 3], type: OHTTPMediaType.chunkedRequest).status == 400)
            #expect(gateway.counts == ["answered": 2, "replayed": 1, "unopened": 2])
            _ = try await gateway.ask(.to(target.url, fields: [.date: "marker"]))
            #expect(gateway.counts["date"] == 1)
            _ = try await gateway.ask(.to("http://127.0.0.1:1/marker"))
            #expect(gateway.counts["forbidden"] == 1)
            let empty = try await gateway.keys().preferred().encapsulate([9, 9]).message
            #expect(try await gateway.post(empty).status == 200)
            #expect(gateway.counts["malformed"] == 1)
            _ = try await gateway.ask(.to(silentURL))
            #expect(gateway.counts["failed"] == 1)

            let sealed = try await gateway.chunkedMessage(.to("\(target.url)/endless"))
            do {
                let response = try await gateway.send(.bytes(sealed.message), type: OHTTPMediaType.chunkedRequest)
                for try await _ in response.body { break }
            }
            await gateway.waitForCount(1, of: "abandoned")
            #expect(
                gateway.counts == [
                    "answered": 2, "replayed": 1, "unopened": 2, "date": 1, "forbidden": 1, "malformed": 1, "failed": 1, "abandoned": 1,
                ])
            #expect(gateway.logs.lines.filter { $0.hasPrefix("warning") }.count == 2)

            let metrics = gateway.metrics
            #expect(metrics.counters.allSatisfy { $0.label == "approov_gateway_requests" })
            let outcomes = metrics.counters.flatMap(\.dimensions)
            #expect(outcomes.allSatisfy { $0.0 == "outcome" })
            #expect(outcomes.map(\.1).sorted() == GatewayMetrics.Outcome.allCases.map(\.rawValue).sorted())
            #expect(metrics.counters.count == GatewayMetrics.Outcome.allCases.count)
            #expect(metrics.timers.isEmpty && metrics.recorders.isEmpty && metrics.meters.isEmpty)
        }
        await target.stop()
        await silent.stop()
    }

    @Test(
        "A message rejected unopened counts as refused, and one that its client leaves unfinished as abandoned",
        arguments: [OHTTPMediaType.request, OHTTPMediaType.chunkedRequest])
    func turnedAway(type: String) async throws {
        let limits: (inout GatewayConfiguration.Limits) -> Void = {
            ($0.messageBytes, $0.chunkedMessageBytes, $0.idleTimeout) = (100, 100, .seconds(6))
        }
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], limits: limits) { (gateway) async throws in
            #expect(try await gateway.post([1], type: "text/plain").status == 415)
            #expect(gateway.counts == ["refused": 1])
            #expect(try await gateway.post([UInt8](repeating: 0, count: 101), type: type).status == 413)
            #expect(gateway.counts == ["refused": 2])
            // Without a length: one message exceeds the limit with its first part, one with its second after an incomplete key.
            let port = try #require(URL(string: gateway.url)?.port)
            let start = try await gateway.chunkedMessage(.to("http://127.0.0.1:1/")).message.prefix(20)
            for parts in [[[UInt8](repeating: 0, count: 101)], [Array(start), [UInt8](repeating: 0, count: 101)]] {
                let client = try RawClient(port: port)
                client.write("POST /gateway HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n")
                for part in parts {
                    // What was sent before has been read, so that the gateway sees the parts one after another.
                    try #require(await client.waitUntilRead())
                    client.write(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8))
                }
                #expect(await client.readText()?.hasPrefix("HTTP/1.1 413 ") == true)
            }
            #expect(gateway.counts == ["refused": 4])

            let head = "POST /gateway HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nContent-Length: 90\r\n\r\n"
            // Clients that disconnect before the first byte of their message, and in the middle of it.
            for (number, part) in ["", "half"].enumerated() {
                do {
                    let client = try RawClient(port: port)
                    client.write(head + part)
                    try #require(await client.waitUntilRead())
                }
                await gateway.waitForCount(Int64(number + 1), of: "abandoned")
            }
            // A client that stays connected and sends nothing more.
            let silent = try RawClient(port: port)
            silent.write(head)
            #expect(await silent.readText()?.hasPrefix("HTTP/1.1 408 ") == true)
            #expect(gateway.counts == ["refused": 4, "abandoned": 3])
            #expect(!gateway.logs.lines.contains { $0.hasPrefix("warning") })
        }
    }

    @Test("Requests over the limit get 503 and count as busy, and the gateway logs one warning without an address")
    func noPlace() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let arrived = AsyncStream.makeStream(of: Void.self)
        let target = try await TestHTTPServer.start(certificate: nil) { _ in
            arrived.continuation.yield()
            for await _ in gate.stream { break }
            return TestResponse(text: "ok")
        }
        try await RunningGateway.with(allow: [target.url], limits: { $0.requests = 1 }) { (gateway) async throws in
            async let first = gateway.ask(.to(target.url))
            for await _ in arrived.stream { break }
            for type in [OHTTPMediaType.request, OHTTPMediaType.chunkedRequest, OHTTPMediaType.request] {
                #expect(try await gateway.post([1], type: type).status == 503)
            }
            #expect(gateway.counts == ["busy": 3])
            let warnings = gateway.logs.lines.filter { $0.hasPrefix("warning") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("503") == true && warnings.first?.contains(#""requests": 1"#) == true, "\(warnings)")
            #expect(warnings.first?.contains(RunningGateway.clientAddress) == false)
            gate.continuation.yield()
            #expect(try await first.text == "ok")
            #expect(gateway.counts == ["busy": 3, "answered": 1])
        }
        await target.stop()
    }

    @Test("A client's probe for chunked support is counted apart from malformed requests")
    func question() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"]) { (gateway) async throws in
            func post(_ first: [UInt8]?, last: [UInt8]) async throws {
                let request = try await gateway.keys().preferred().chunkedRequest()
                var sealer = request.sealer
                var message: [UInt8] = []
                if let first { message = try sealer.seal(first) }
                message += try sealer.finish(last)
                #expect(try await gateway.post(message, type: OHTTPMediaType.chunkedRequest).status == 200)
            }
            let question = [UInt8](repeating: 0x3f, count: 1_024)
            try await post(nil, last: question)
            try await post(question, last: [])
            #expect(gateway.counts == ["question": 2])
            // Messages with another first byte, with the probe byte only in second place, and without content.
            try await post(nil, last: [9, 0x3f])
            try await post([9], last: [0x3f])
            try await post(nil, last: [])
            #expect(gateway.counts == ["question": 2, "malformed": 3])
        }
    }
}

extension RunningGateway {
    /// The number of requests for each outcome that occurred.
    var counts: [String: Int64] {
        Dictionary(uniqueKeysWithValues: metrics.counters.map { ($0.dimensions.first?.1 ?? "", $0.totalValue) }).filter { $0.value > 0 }
    }

    /// Waits until an outcome has been counted `count` times.
    func waitForCount(_ count: Int64, of outcome: String) async {
        #expect(await eventually { counts[outcome, default: 0] == count })
    }
}
