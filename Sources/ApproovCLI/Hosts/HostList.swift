import ApproovAuthority
import Attestation
import Foundation

/// Hosts, as `approov api -list` and `-pins` print them and `-import` reads them.
struct HostList {
    private struct Host: Encodable {
        let host: String
        let pins: [String]
        let enforce: Bool
        let attested: Bool
        let oblivious: Bool
        let includeSubdomains: Bool
        let pinsExpireAt: String?
        let kid: String?
        let trustRoots: String?
        let addedAt: String?
    }

    private let hosts: [AccountHost]

    init(_ hosts: [AccountHost]) {
        self.hosts = hosts
    }

    func show(json: Bool) throws {
        if json {
            return try Console.json(
                hosts.map {
                    Host(
                        host: $0.name, pins: $0.settings.pins, enforce: $0.settings.enforce, attested: $0.settings.attested,
                        oblivious: $0.settings.oblivious, includeSubdomains: $0.settings.includeSubdomains,
                        pinsExpireAt: $0.settings.pinsExpireAt.map(RFC3339.text(seconds:)), kid: $0.settings.kid,
                        trustRoots: $0.settings.trustRoots, addedAt: $0.addedAt.map(RFC3339.text(seconds:)))
                })
        }
        for host in hosts {
            var remarks = [host.settings.attested ? "attested" : "pinned only"]
            if !host.settings.enforce { remarks.append("PINS NOT ENFORCED") }
            if host.settings.oblivious { remarks.append("oblivious") }
            if host.settings.includeSubdomains { remarks.append("with subdomains") }
            if host.settings.trustRoots != nil { remarks.append("own trust roots") }
            if let expiry = host.settings.pinsExpireAt { remarks.append("pins due \(RFC3339.text(seconds: expiry))") }
            if let kid = host.settings.kid { remarks.append("keyset \(kid)") }
            Console.line("\(host.name)  \(RFC3339.column(host.addedAt))  (\(remarks.joined(separator: ", ")))")
            for (index, pin) in host.settings.pins.enumerated() { Console.line("    \(pin)  \(index == 0 ? "current" : "backup")") }
        }
    }
}

extension HostSettings {
    /// Lists the settings that a replacement drops.
    func lost(in new: HostSettings) -> [String] {
        var lost = pins.filter { !new.pins.contains($0) }.map { "pin \($0)" }
        if trustRoots != nil, new.trustRoots == nil { lost.append("trust roots") }
        if let kid, new.kid != kid { lost.append("keyset \(kid)") }
        if includeSubdomains, !new.includeSubdomains { lost.append("subdomains") }
        if oblivious, !new.oblivious { lost.append("oblivious") }
        if pinsExpireAt != nil, new.pinsExpireAt == nil { lost.append("a date for the pins") }
        if !attested, new.attested { lost.append("without tokens (-noApproovToken)") }
        if !enforce, new.enforce { lost.append("pins not enforced") }
        return lost
    }
}
