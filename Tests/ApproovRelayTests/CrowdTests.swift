import ApproovTesting
import TestTags
import Testing

import ApproovRelay

/// A relay beside a client that takes all the connections it can get.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("silent connections of one address keep no other client from the relay")
    func relay() async throws {
        try await RunningRelay.with(gateway: "http://127.0.0.1:1/", limits: .quick { $0.connections = SilentCrowd.places }) { relay in
            try await SilentCrowd.surround("relay", port: relay.port)
        }
    }
}
