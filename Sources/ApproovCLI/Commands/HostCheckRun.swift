import ApproovAuthority
import Attestation
import CertificatePinning
import Foundation
import HTTPClient

/// `approov api -check`: compares the certificates of the servers that apps connect to with their pins.
///
/// Apps never connect to an oblivious host itself. For such a host it checks whether the gateway accepts the published key, and compares
/// the relay's certificates with the relay's pins.
struct HostCheckRun {
    /// The default number of days to look ahead.
    static let defaultDays = 30

    let days: Int
    let json: Bool
    let store: AuthorityStore

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
        /// Judges the findings; not printed.
        let check: HostCheck

        private enum CodingKeys: CodingKey {
            case host, entry, relay, ok, broken, enforce, pins, presented, findings
        }
    }

    /// What JSON has for a host that cannot be checked.
    private struct Failure: Encodable {
        let host: String
        let entry: String
        let ok = false
        let broken = true
        let error: String
    }

    /// The result for one of all hosts.
    private enum Outcome: Encodable {
        case checked(Report)
        case failed(Failure)

        var isGood: Bool {
            guard case .checked(let report) = self else { return false }
            return report.ok
        }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .checked(let report): try report.encode(to: encoder)
            case .failed(let failure): try failure.encode(to: encoder)
            }
        }
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

    /// What a server answered.
    private struct Answer {
        let server: Server
        /// The certificates; nil if a finding says that the server cannot be reached.
        let chain: PresentedChain?
        /// The problems that the certificates do not show.
        var findings: [HostCheck.Finding] = []
    }

    /// Checks a host, and prints the report.
    ///
    /// - Parameter host: The host, with a port if it is not 443.
    /// - Throws: `CommandFailure` when there is a problem, or the host cannot be checked.
    func check(_ host: String) async throws {
        guard !host.contains(where: "/?#@".contains) else {
            throw CommandFailure("\(Console.withoutSecrets(host)) is not a host name; give HOST or HOST:PORT, such as api.example.com")
        }
        let url: TransportURL
        do {
            // An IPv6 address may come without brackets, as the account has it.
            url = try TransportURL("https://\((try? CanonicalHost(host))?.urlText ?? host)/")
        } catch {
            throw CommandFailure("\(host) is not a host name: \(error)")
        }
        guard let entry = try store.host(for: url.host.name) else {
            throw CommandFailure(
                "the account has no entry for \(url.host.name); add it: approov api -add \(url.host.name) -pinFrom CERTIFICATE -pin BACKUP")
        }
        let relay = entry.settings.oblivious ? try await relayAnswer() : nil
        let report = try await report(on: url.host.name, at: url, entry, relay)
        if json { try Console.json(report) } else { show(report) }
        // The findings are printed already, in text and in JSON.
        if !report.ok { throw CommandFailure(nil) }
    }

    /// Checks all hosts of the account, one after another, and prints their reports.
    ///
    /// A pattern names no host that can be asked. If it is oblivious, its hosts' requests go to the relay, which is checked.
    ///
    /// - Throws: `CommandFailure` when there is a problem, or a host cannot be checked.
    func checkAll() async throws {
        let relay = try store.obliviousSettings.map { try TransportURL($0.relay) }
        var outcomes: [Outcome] = []
        let relayResult = store.hosts.contains(where: \.settings.oblivious) ? await relayResult() : .success(nil)
        for entry in store.hosts {
            let name = entry.name
            do {
                guard let url = try url(of: entry, relay) else {
                    Console.note(
                        "approov: \(name) is not checked, because it is a pattern; check one of its hosts: approov api -check HOST")
                    continue
                }
                let report = try await report(on: name, at: url, entry, entry.settings.oblivious ? relayResult.get() : nil)
                outcomes.append(.checked(report))
                if !json {
                    Console.line(name)
                    show(report)
                }
            } catch let cancellation as CancellationError {
                throw cancellation
            } catch {
                // The other hosts are checked all the same.
                let reason = (error as? CommandFailure)?.message ?? "\(error)"
                outcomes.append(.failed(Failure(host: name, entry: name, error: reason)))
                Console.error(reason.hasPrefix(name) ? reason : "\(name) cannot be checked: \(reason)")
            }
        }
        if json { try Console.json(outcomes) }
        if store.hosts.isEmpty { Console.note("approov: the account has no hosts to check; add one: approov api -add HOST") }
        if !outcomes.allSatisfy(\.isGood) { throw CommandFailure(nil) }
    }

    /// Where to check an entry of the account; nil for a pattern, which names no host, unless its requests go to the relay.
    private func url(of entry: AccountHost, _ relay: TransportURL?) throws -> TransportURL? {
        if entry.name.hasPrefix("*") { return entry.settings.oblivious ? relay : nil }
        let host = try CanonicalHost(entry.name)
        // The settings of a host name no port, but those of the relay do.
        if let relay, relay.host == host { return relay }
        return try TransportURL("https://\(host.urlText)/")
    }

    /// Asks the relay once for all oblivious hosts, which share it.
    private func relayResult() async -> Result<Answer?, any Error> {
        do {
            return .success(try await relayAnswer())
        } catch {
            return .failure(error)
        }
    }

    /// Asks the relay; nil if the account has none.
    private func relayAnswer() async throws -> Answer? {
        guard let keys = try PublishedKeyCheck(store) else { return nil }
        let server = Server(url: try TransportURL(keys.settings.relay), settings: keys.relay, managedTrustRoots: keys.managedTrustRoots)
        let findings = try await Self.findings(of: keys)
        let chain = try await presented(by: server, isReported: !findings.isEmpty)
        return Answer(server: server, chain: chain, findings: findings)
    }

    /// Judges what the relay answered, or what the host itself answers when there is no relay.
    private func report(on host: String, at url: TransportURL, _ entry: AccountHost, _ relayAnswer: Answer?) async throws -> Report {
        let relay = relayAnswer?.server.url.host.name
        let answer: Answer
        if let relayAnswer {
            answer = relayAnswer
        } else {
            let server = Server(url: url, settings: entry.settings, managedTrustRoots: store.managedTrustRoots)
            answer = Answer(server: server, chain: try await server.presented())
        }
        let (server, chain) = (answer.server, answer.chain)
        var findings = answer.findings
        let check = HostCheck(
            pins: try server.pins.map { try Pin($0) }, settings: server.settings ?? HostSettings(),
            presented: chain ?? PresentedChain(certificates: [], refusal: nil), now: Date(), days: days)
        if chain != nil {
            findings += (server.settings == nil ? check.unpinnedFindings : check.findings).map { finding in
                HostCheck.Finding(kind: finding.kind, message: relay.map { "the relay \($0): \(finding.message)" } ?? finding.message)
            }
        }
        return Report(
            host: host, entry: entry.name, relay: relay, ok: findings.isEmpty, broken: findings.contains(where: check.breaksNow),
            enforce: check.settings.enforce, pins: server.pins,
            presented: check.presented.certificates.map {
                Certificate(
                    subject: $0.subject, pin: $0.pin.description, isPinned: check.pins.contains($0.pin), notAfter: RFC3339.text($0.notAfter)
                )
            }, findings: findings, check: check)
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

    private func show(_ report: Report) {
        let check = report.check
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
