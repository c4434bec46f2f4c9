import ApproovTesting
import TestTags
import Testing

import ApproovAuthority

/// An authority beside a client that takes all the connections it can get.
///
/// `APPROOV_CROWD=6000` has that many silent connections, and prints the worst answer's time.
@Suite(.tags(.sockets), .serialized, .timeLimit(.minutes(5))) struct CrowdTests {
    @Test("silent connections of one address keep no other client from the authority")
    func authority() async throws {
        let account = try await AuthorityBench()
        var limits = AuthorityConfiguration.Limits()
        limits.connections = SilentCrowd.places
        try await RunningAuthority.with(store: account.store, configuration: .loopback(tls: .none, limits: limits)) { authority in
            try await SilentCrowd.surround("authority", port: authority.port)
        }
    }
}
