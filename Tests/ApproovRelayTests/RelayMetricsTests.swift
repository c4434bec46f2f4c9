import ApproovRelay
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import MetricsTestKit
import TestTags
import Testing

/// What a relay counts when messages travel over real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct RelayMetricsTests {
    @Test("The relay counts each outcome once and records nothing else, in particular no address or content")
    func outcomes() async throws {
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let body = try await message.body.collect()
            switch body.first {
            case 1: return TestResponse(headerFields: [.contentType: "message/ohttp-res"], body: [1])
            case 2: return TestResponse(.badRequest)
            case 3: return TestResponse(text: "no answer of a gateway's")
            default:
                return TestResponse(headerFields: [.contentType: "message/ohttp-res"], length: nil) { _ in
                    [UInt8](repeating: 0, count: 65_536)
                }
            }
        }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            #expect(try await relay.post([1]).status == 200)
            #expect(try await relay.post([2]).status == 400)
            #expect(relay.counts == ["forwarded": 2])
            #expect(try await relay.post([1], type: "text/plain").status == 415)
            #expect(relay.counts == ["forwarded": 2, "refused": 1])
            #expect(try await relay.post([3]).status == 502)
            #expect(relay.counts == ["forwarded": 2, "refused": 1, "failed": 1])

            // A client that stops reading the response.
            do {
                let response = try await relay.send(.bytes([4]))
                for try await _ in response.body { break }
            }
            await relay.waitForCount(1, of: "abandoned")
            // A client that disconnects in the middle of its message.
            try RawClient(port: relay.port).write(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: message/ohttp-req\r\nContent-Length: 9\r\n\r\nhalf")
            await relay.waitForCount(2, of: "abandoned")
            #expect(relay.counts == ["forwarded": 2, "refused": 1, "failed": 1, "abandoned": 2])

            let metrics = relay.metrics
            #expect(metrics.counters.allSatisfy { $0.label == "approov_relay_requests" })
            let outcomes = metrics.counters.flatMap(\.dimensions)
            #expect(outcomes.allSatisfy { $0.0 == "outcome" })
            #expect(outcomes.map(\.1).sorted() == ["abandoned", "failed", "forwarded", "refused"])
            #expect(metrics.timers.isEmpty && metrics.recorders.isEmpty && metrics.meters.isEmpty)
        }
        await gateway.stop()
    }
}

extension RunningRelay {
    /// The number of messages for each outcome that occurred.
    fileprivate var counts: [String: Int64] {
        Dictionary(uniqueKeysWithValues: metrics.counters.map { ($0.dimensions.first?.1 ?? "", $0.totalValue) }).filter { $0.value > 0 }
    }

    /// Waits until an outcome has been counted `count` times.
    fileprivate func waitForCount(_ count: Int64, of outcome: String) async {
        #expect(await eventually { counts[outcome, default: 0] == count })
    }
}
