import ApproovAuthority
import Attestation
import CertificatePinning
import Foundation
import HTTPClient

/// `approov api -check`: compares the certificates of the server that apps connect to with its pins.
///
/// Apps never connect to an oblivious host itself. For such a host it checks whether the gateway accepts the published key, and compares
/// the relay's certificates with the relay's pins.
struct HostCheckRun {
    /// The default number of days to look ahead.
    static let defaultDays = 30

    let host: String
    let days: Int
    let json: Bool

    private struct Certificate: Encodable {
        let subject: String
        let pin: String
        let isPinned: Bool
        let notAfter: String
    }

    private struct Report: Encodable {
        let host: String
        let entry: String
        /// The relay's host if the host is oblivious; the fields that follow are then about the relay.
        let relay: String?
        let ok: Bool
        let broken: Bool
        let enforce: Bool
        let pins: [String]
        let presented: [Certificate]
        let findings: [HostCheck.Finding]
    }

    /// The server that apps connect to.
    private struct Server {
        let url: TransportURL
        /// The account's settings for it; nil for a relay without an entry, which apps trust by its certificate path alone.
        let settings: HostSettings?
        let managedTrustRoots: [String]

        var pins: [String] { settings.map { $0.pins.isEmpty ? managedTrustRoots : $0.pins } ?? [] }

        func presented() async throws -> PresentedChain {
            try await PresentedChain.of(url, anchors: settings?.trustRoots.map { try TrustAnchors(pem: $0) })
        }
    }

    func run(in store: AuthorityStore) async throws {
        let url: TransportURL
        do {
            url = try TransportURL("https://\(host)/")
        } catch {
            throw CommandFailure("\(host) is not a host name: \(error)")
        }
        guard let entry = try store.host(for: url.host.name) else {
            throw CommandFailure(
                "the account has no entry for \(url.host.name); add it: approov api -add \(url.host.name) -pinFrom CERTIFICATE -pin BACKUP")
        }
        var server = Server(url: url, settings: entry.settings, managedTrustRoots: store.managedTrustRoots)
        var relay: String?
        var findings: [HostCheck.Finding] = []
        if entry.settings.oblivious, let keys = try PublishedKeyCheck(store) {
            server = Server(
                url: try TransportURL(keys.settings.relay), settings: keys.relay, managedTrustRoots: keys.managedTrustRoots)
            relay = server.url.host.name
            findings = try await Self.findings(of: keys)
        }
        let chain = try await presented(by: server, isReported: !findings.isEmpty)
        let check = HostCheck(
            pins: try server.pins.map { try Pin($0) }, settings: server.settings ?? HostSettings(),
            presented: chain ?? PresentedChain(certificates: [], refusal: nil), now: Date(), days: days)
        if chain != nil {
            findings += (server.settings == nil ? check.unpinnedFindings : check.findings).map { finding in
                HostCheck.Finding(kind: finding.kind, message: relay.map { "the relay \($0): \(finding.message)" } ?? finding.message)
            }
        }
        let report = Report(
            host: url.host.name, entry: entry.name, relay: relay, ok: findings.isEmpty, broken: findings.contains(where: check.breaksNow),
            enforce: check.settings.enforce, pins: server.pins,
            presented: check.presented.certificates.map {
                Certificate(
                    subject: $0.subject, pin: $0.pin.description, isPinned: check.pins.contains($0.pin), notAfter: RFC3339.text($0.notAfter)
                )
            }, findings: findings)
        if json { try Console.json(report) } else { show(report, of: check) }
        // The findings are printed already, in text and in JSON.
        if !findings.isEmpty { throw CommandFailure(nil) }
    }

    /// The problems that keep requests from passing through the relay.
    private static func findings(of keys: PublishedKeyCheck) async throws -> [HostCheck.Finding] {
        let report = try await keys.run()
        guard let message = report.message else { return [] }
        switch report.outcome {
        case .accepted: return []
        case .keyRefused: return [HostCheck.Finding(kind: .keyRefused, message: message)]
        case .relayFailed: return [HostCheck.Finding(kind: .relayFailed, message: message)]
        }
    }

    /// Fetches the server's certificates.
    /// - Parameters:
    ///   - server: The server.
    ///   - isReported: Whether a finding already says that requests to the server fail.
    /// - Returns: The certificates; nil if the server cannot be reached and a finding says so.
    /// - Throws: `CommandFailure` when the server cannot be reached and no finding says so.
    private func presented(by server: Server, isReported: Bool) async throws -> PresentedChain? {
        do {
            return try await server.presented()
        } catch let failure as CommandFailure {
            guard isReported else { throw failure }
            return nil
        }
    }

    private func show(_ report: Report, of check: HostCheck) {
        if let relay = report.relay { Console.line("apps send requests to \(report.host) through the relay \(relay)") }
        for certificate in report.presented {
            Console.line(
                "\(certificate.pin)  \(certificate.isPinned ? "pinned" : "      ")  until \(certificate.notAfter)  \(certificate.subject)")
        }
        for finding in report.findings { Console.line("\(check.breaksNow(finding) ? "broken" : "soon"): \(finding.message)") }
        if !report.enforce {
            Console.note("approov: the pins of \(report.relay ?? report.entry) are not enforced: apps only report mismatches")
        }
        guard report.ok else { return }
        let server = report.relay.map { "the gateway accepts the published key, and the relay \($0)" } ?? report.host
        let trust = report.pins.isEmpty ? "has a valid certificate" : "is pinned\(check.hasBackup ? ", with a backup," : "")"
        Console.line("good: \(server) \(trust) for at least \(days) days")
    }
}
