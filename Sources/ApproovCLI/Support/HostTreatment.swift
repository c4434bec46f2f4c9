import Attestation
import CertificatePinning
import HTTPClient

/// What `approov call` does for a host, as far as the configuration in force tells before the request.
struct HostTreatment: CustomStringConvertible {
    let host: String
    /// The configuration's entry; nil when it says nothing about the host.
    let settings: HostSettings?
    let isEvaluated: Bool
    let relay: String?

    /// Looks a URL's host up.
    /// - Throws: when the URL or the configuration cannot be used
    init(of url: String, by configuration: DynamicConfiguration?, evaluated: Bool, relay: String?) throws {
        // What has no canonical host, such as another scheme, is the session's to refuse.
        let canonical = try? TransportURL(url).host
        host = canonical?.name ?? url
        let entries = try (configuration?.hosts ?? [:]).map { name, settings in
            (try HostPattern(name, includeSubdomains: settings.includeSubdomains, allowingPublicSuffix: true), settings)
        }
        settings = try canonical.flatMap { try HostMap(entries).value(for: $0) }
        isEvaluated = evaluated
        self.relay = settings?.oblivious == true ? configuration?.oblivious?.relay : settings == nil ? relay : nil
    }

    var isObliviousByConfiguration: Bool { settings?.oblivious == true }

    var description: String {
        let way = relay.map { "; over the relay \($0)" } ?? ""
        guard let settings else {
            return "\(host): not protected; no token\(isEvaluated ? ", pins of --pin" : "")\(way)"
        }
        let trust = settings.enforce ? "pins" : "pins not enforced"
        return "\(host): protected; \(settings.attested ? "a token" : "no token"), \(trust)\(way)"
    }
}
