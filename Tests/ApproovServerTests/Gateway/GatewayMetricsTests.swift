import ApproovTesting
import Foundation
import HTTPTransport
import HTTPTypes
import MetricsTestKit
import OHTTP
import Testing

@testable import ApproovServer

/// What a gateway counts, of requests on real sockets.
@Suite(.timeLimit(.minutes(5))) struct GatewayMetricsTests {
    @Test("every outcome is counted once where it belongs, and nothing else is measured: no address, target or content is in it")
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
            for _ in 0..<200 where gateway.counts["abandoned"] == nil { try await Task.sleep(for: .milliseconds(50)) }
            #expect(
                gateway.counts == [
                    "answered": 2, "replayed": 1, "unopened": 2, "date": 1, "forbidden": 1, "malformed": 1, "failed": 1, "abandoned": 1,
                ])
            #expect(gateway.logs.lines.filter { $0.hasPrefix("warning") }.count == 1)

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
}

extension RunningGateway {
    /// How many requests came to each outcome, those that there were.
    var counts: [String: Int64] {
        Dictionary(uniqueKeysWithValues: metrics.counters.map { ($0.dimensions.first?.1 ?? "", $0.totalValue) }).filter { $0.value > 0 }
    }
}
