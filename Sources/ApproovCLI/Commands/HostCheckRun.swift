import ApproovAuthority
import Attestation
import CertificatePinning
import Foundation
import HTTPClient

/// `approov api -check`: compares a host's certificates with its pins.
///
/// For an oblivious host it also checks whether the gateway accepts the published key.
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
        let ok: Bool
        let broken: Bool
        let enforce: Bool
        let pins: [String]
        let presented: [Certificate]
        let findings: [HostCheck.Finding]
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
        let texts = entry.settings.pins.isEmpty ? store.managedTrustRoots : entry.settings.pins
        let presented = try await PresentedChain.of(url, anchors: try entry.settings.trustRoots.map { try TrustAnchors(pem: $0) })
        let check = HostCheck(
            pins: try texts.map { try Pin($0) }, settings: entry.settings, presented: presented, now: Date(), days: days)
        let findings = check.findings + (entry.settings.oblivious ? try await obliviousFindings(in: store) : [])
        let report = Report(
            host: url.host.name, entry: entry.name, ok: findings.isEmpty, broken: findings.contains(where: check.breaksNow),
            enforce: entry.settings.enforce,
            pins: texts,
            presented: presented.certificates.map {
                Certificate(
                    subject: $0.subject, pin: $0.pin.description, isPinned: check.pins.contains($0.pin), notAfter: RFC3339.text($0.notAfter)
                )
            }, findings: findings)
        if json { try Console.json(report) } else { show(report, of: check) }
        // The findings are printed already, in text and in JSON.
        if !findings.isEmpty { throw CommandFailure(nil) }
    }

    /// The problems that keep requests from passing through the relay.
    private func obliviousFindings(in store: AuthorityStore) async throws -> [HostCheck.Finding] {
        guard let report = try await PublishedKeyCheck(store)?.run(), let message = report.message else { return [] }
        switch report.outcome {
        case .accepted: return []
        case .keyRefused: return [HostCheck.Finding(kind: .keyRefused, message: message)]
        case .relayFailed: return [HostCheck.Finding(kind: .relayFailed, message: message)]
        }
    }

    private func show(_ report: Report, of check: HostCheck) {
        for certificate in report.presented {
            Console.line(
                "\(certificate.pin)  \(certificate.isPinned ? "pinned" : "      ")  until \(certificate.notAfter)  \(certificate.subject)")
        }
        for finding in report.findings { Console.line("\(check.breaksNow(finding) ? "broken" : "soon"): \(finding.message)") }
        if !report.enforce { Console.note("approov: the pins of \(report.entry) are not enforced: apps only report mismatches") }
        if report.ok {
            Console.line("good: \(report.host) is pinned\(check.hasBackup ? ", with a backup," : "") for at least \(days) days")
        }
    }
}
