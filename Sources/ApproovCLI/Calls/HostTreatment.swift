import Attestation
import CertificatePinning
import Foundation
import HTTPClient

/// How `approov call` treats a host under the configuration in force.
struct HostTreatment: CustomStringConvertible {
    let host: String
    /// The configuration's entry; nil when it says nothing about the host.
    let settings: HostSettings?
    /// Whether only the pins of an entry apply, because a public suffix separates the host from the entry's pattern.
    let isOnlyPinned: Bool
    let isEvaluated: Bool
    let relay: String?

    /// Looks up a URL's host.
    /// - Throws: The error of a configuration that cannot be used.
    init(of url: URL, by configuration: DynamicConfiguration?, evaluated: Bool, relay: String?) throws {
        // Read the URL as the session does, in Foundation's spelling: there a name in fullwidth letters becomes ASCII. The session refuses
        // a URL without a canonical host; print only the host of such a URL, because the rest may hold a password.
        let canonical = try? TransportURL(url).host
        host = canonical?.name ?? Self.host(of: url)
        let entries = try (configuration?.hosts ?? [:]).map { name, settings in
            (try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true), settings)
        }
        let found = try canonical.flatMap { try HostMap(entries).covering($0) }
        settings = found.flatMap { $0.isSeparated ? nil : $0.value }
        isOnlyPinned = found.map { $0.isSeparated && $0.value.enforce } ?? false
        isEvaluated = evaluated
        self.relay = settings?.oblivious == true ? configuration?.oblivious?.relay : settings == nil ? relay : nil
    }

    /// The canonical host, even of a URL that is refused for another reason, such as user information.
    private static func host(of url: URL) -> String {
        let name = url.host(percentEncoded: true) ?? ""
        return (try? CanonicalHost(name).name) ?? "this URL's host"
    }

    var isObliviousByConfiguration: Bool { settings?.oblivious == true }

    var description: String {
        let way = relay.map { "; through the relay \($0)" } ?? ""
        if isOnlyPinned {
            return "\(host): no token, because a public suffix separates it from the configured pattern; the pattern's pins"
                + "\(isEvaluated ? ", pins of --pin" : "")\(way)"
        }
        guard let settings else {
            return "\(host): not protected; no token\(isEvaluated ? ", pins of --pin" : "")\(way)"
        }
        let trust = settings.enforce ? "pins" : "pins not enforced"
        return "\(host): protected; \(settings.attested ? "with a token" : "no token"), \(trust)\(way)"
    }
}
