import ApproovAuthority
import Attestation
import CertificatePinning
import HTTPClient

/// The account's entry for the host of its relay.
enum RelayPins {
    /// Whether no entry covers the relay's host; nil if no relay is set, or its host cannot be looked up.
    static func areMissing(in store: AuthorityStore) -> Bool? {
        guard let host = host(in: store) else { return nil }
        do {
            return try store.host(for: host) == nil
        } catch {
            return nil
        }
    }

    /// Says how to pin the relay, if one is set and no entry covers its host.
    static func noteIfMissing(in store: AuthorityStore) {
        guard areMissing(in: store) == true, let host = host(in: store) else { return }
        Console.note(
            "approov: \(host) has no pins; to pin the relay: approov api -add \(host) -noApproovToken -pinFrom CERTIFICATE -pin BACKUP")
    }

    private static func host(in store: AuthorityStore) -> String? {
        store.obliviousSettings.flatMap { try? TransportURL($0.relay).host.name }
    }
}
