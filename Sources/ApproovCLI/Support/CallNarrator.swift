import Approov
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Synchronization

/// Prints, for `approov call -v`, the configuration and the token of each request that leaves.
///
/// It wraps the session's transport, because fetching a token may bring a new configuration: only here is the request's own known.
final class CallNarrator: HTTPTransport {
    private let base: any HTTPTransport
    private let plan: CallPlan
    private let hasSpoken = Mutex(false)

    /// - Parameters:
    ///   - base: The transport that sends.
    ///   - plan: The call.
    init(_ base: any HTTPTransport, plan: CallPlan) {
        self.base = base
        self.plan = plan
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let isFirst = hasSpoken.withLock { hasSpoken in
            defer { hasSpoken = true }
            return !hasSpoken
        }
        for line in try await plan.lines(for: request, isFirst: isFirst) { Console.note(line) }
        return try await base.send(request)
    }

    /// Prints how the call would have been treated, when it failed before a request was sent.
    func nothingLeft() throws {
        guard !hasSpoken.withLock({ $0 }) else { return }
        for line in try plan.treatmentLines() { Console.note(line) }
    }
}

/// A call, as `approov call -v` describes it.
struct CallPlan: Sendable {
    let url: URL
    let method: String
    let headers: [(name: String, value: String)]
    let bind: String?
    let isEvaluated: Bool
    let relay: String?
    let sign: SignChoice?
    let service: ApproovService?

    /// Says how the configuration in force now treats the call's host, or a redirect's.
    func treatmentLines(of other: URL? = nil) throws -> [String] {
        let treatment = try HostTreatment(of: other ?? url, by: service?.configuration, evaluated: isEvaluated, relay: relay)
        var lines = ["* \(treatment)"]
        if let service, service.isConfigurationExpired {
            let end = Date(timeIntervalSince1970: TimeInterval(service.configuration.expiresAt)).formatted(.iso8601)
            lines.append(
                "* configuration version \(service.configuration.version) expired on \(end); its pins stay in force; check that the app "
                    + "can reach the authority")
        }
        return lines
    }

    /// The lines that describe a request that leaves now.
    func lines(for request: TransportRequest, isFirst: Bool) async throws -> [String] {
        // A request to the relay is sealed; describe the call inside it.
        let isRelayed = request.url.host == relayHost
        let target = isRelayed ? nil : URL(string: request.url.text)
        // Leave the query out: it may hold secrets.
        let place = isRelayed ? Self.shown(url) : String(request.url.text.prefix { $0 != "?" })
        var lines = try treatmentLines(of: target)
        lines.append("> \(isFirst ? method : request.method.rawValue) \(place)")
        if isFirst {
            lines += headers.map { "> \($0.name)" }
        } else if !isRelayed {
            lines += request.headerFields.map { "> \($0.name)" }
        }
        if let sign, let name = HTTPField.Name("Signature-Input"), request.headerFields.contains(name) {
            lines.append("* signed with \(sign.words)")
        }
        if let arc = await arc(at: target ?? url, of: request, isRelayed: isRelayed) {
            lines.append("* attestation response code \(arc); to explain it: approov token -arc \(arc)")
        }
        return lines
    }

    private var relayHost: CanonicalHost? {
        (relay ?? service?.configuration.oblivious?.relay).flatMap { try? TransportURL($0).host }
    }

    /// The ARC of the request's token; nil when the request carries none.
    ///
    /// The token is from the last attestation, or in the cache under the same binding.
    private func arc(at url: URL, of request: TransportRequest, isRelayed: Bool) async -> String? {
        guard let service else { return nil }
        let name = bind.flatMap { HTTPField.Name($0) }
        let binding = isRelayed ? headers.last { HTTPField.Name($0.name) == name }?.value : name.flatMap { request.headerFields[$0] }
        let token = HTTPField.Name(TokenHeader().name)
        guard isRelayed || token.map({ request.headerFields.contains($0) }) == true else { return nil }
        let arc: String
        if let last = service.lastResult, last.host == (try? TransportURL(url))?.host.name {
            arc = last.arc
        } else {
            arc = await service.fetchToken(for: url, binding: name == nil ? nil : binding).arc
        }
        return arc.isEmpty ? nil : arc
    }

    private static func shown(_ url: URL) -> String {
        let port = url.port.map { ":\($0)" } ?? ""
        return "\(url.scheme ?? "")://\(url.host() ?? "")\(port)\(url.path())"
    }
}
