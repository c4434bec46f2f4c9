import ApproovAuthority
import Attestation
import CertificatePinning
import HTTPClient

/// The account's entry for the host of its relay.
enum RelayPins {
    /// Says how to pin the relay, if one is set and no entry covers its host.
    static func noteIfMissing(in store: AuthorityStore) throws {
        guard let relay = store.obliviousSettings?.relay else { return }
        let host = try TransportURL(relay).host.name
        guard try store.host(for: host) == nil else { return }
        Console.note(
            "approov: \(host) has no pins; to pin the relay: approov api -add \(host) -noApproovToken -pinFrom CERTIFICATE -pin BACKUP")
    }
}
