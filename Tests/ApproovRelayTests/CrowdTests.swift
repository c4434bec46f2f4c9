import ApproovRelay
import ApproovTesting
import TestTags
import Testing

/// A relay with a client that opens as many connections as it can.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("Silent connections from one address do not keep other clients from the relay")
    func relay() async throws {
        try await RunningRelay.with(gateway: "http://127.0.0.1:1/", limits: .quick { $0.connections = SilentCrowd.places }) { relay in
            try await SilentCrowd.surround("relay", port: relay.port)
        }
    }
}
