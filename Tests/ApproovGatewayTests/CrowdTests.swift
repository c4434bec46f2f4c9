import ApproovGateway
import ApproovTesting
import Foundation
import TestTags
import Testing

/// A gateway with a client that opens as many connections as it can.
///
/// `APPROOV_CROWD=6000` opens that many silent connections, and prints the time of the slowest response.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("Silent connections from one address do not keep other clients from the gateway")
    func gateway() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"], limits: { $0.connections = SilentCrowd.places }) { gateway in
            try await SilentCrowd.surround("gateway", port: URL(string: gateway.url)?.port ?? 0)
        }
    }
}
