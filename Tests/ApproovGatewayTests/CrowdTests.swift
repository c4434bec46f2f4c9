import ApproovTesting
import Foundation
import TestTags
import Testing

import ApproovGateway

/// A gateway beside a client that takes all the connections it can get.
///
/// `APPROOV_CROWD=6000` has that many silent connections, and prints the worst answer's time.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("silent connections of one address keep no other client from the gateway")
    func gateway() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"], limits: { $0.connections = SilentCrowd.places }) { gateway in
            try await SilentCrowd.surround("gateway", port: URL(string: gateway.url)?.port ?? 0)
        }
    }
}
