import ApproovAuthority
import ApproovTesting
import TestTags
import Testing

/// An authority with a client that opens as many connections as it can.
///
/// `APPROOV_CROWD=6000` opens that many silent connections, and prints the time of the slowest response.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("Silent connections from one address do not keep other clients from the authority")
    func authority() async throws {
        let account = try await AuthorityBench()
        var limits = AuthorityConfiguration.Limits()
        limits.connections = SilentCrowd.places
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: limits)) { authority in
            try await SilentCrowd.surround("authority", port: authority.port)
        }
    }
}
