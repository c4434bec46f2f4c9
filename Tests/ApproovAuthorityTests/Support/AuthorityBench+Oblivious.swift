import ApproovAuthority
import ApproovBase
import Attestation
import OHTTP

extension AuthorityBench {
    /// Sends the requests of the account's host through a relay.
    func makeOblivious() async throws {
        let keys = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        try await store.setOblivious(ObliviousSettings(relay: "https://relay.example.com/", keyConfig: Base64.encode(keys)))
        try await store.addHost(Self.host, settings: HostSettings(pins: Self.pins, oblivious: true))
    }
}
