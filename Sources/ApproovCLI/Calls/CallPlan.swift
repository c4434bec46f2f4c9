import Approov
import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes

/// A call, as `approov call -v` describes it.
struct CallPlan: Sendable {
    let url: URL
    let method: String
    let headers: [(name: String, value: String)]
    let bind: [String]
    let isEvaluated: Bool
    let relay: String?
    let sign: SignChoice?
    let service: ApproovService?
    /// The headers in which secure strings are substituted, each with the text before the placeholder.
    let substitutedHeaders: [(name: String, prefix: String)]
    let substitutedQueryParameters: [String]

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
        // A request to the relay is sealed: describe the call inside the first one. What later ones contain is unknown here, for example a
        // redirect or a question about the gateway, so show them as what they are.
        let isRelayed = request.url.host == relayHost
        let target = isRelayed ? nil : URL(string: request.url.text)
        // Leave the query out: it may hold secrets.
        let place = isRelayed && isFirst ? Self.shown(url) : String(request.url.text.prefix { $0 != "?" })
        var lines = try treatmentLines(of: target)
        lines.append("> \(isFirst ? method : request.method.rawValue) \(place)")
        if isFirst {
            lines += headers.map { "> \($0.name)" }
        } else if !isRelayed {
            lines += request.headerFields.map { "> \($0.name)" }
        }
        if isFirst { lines += substitutionLines(in: isRelayed ? nil : request) }
        if let sign, let name = HTTPField.Name("Signature-Input"), request.headerFields.contains(name) {
            lines.append("* signed with \(sign.words)")
        }
        if let arc = await arc(at: target ?? url, of: request, isRelayed: isRelayed) {
            lines.append("* attestation response code \(arc); to explain it: approov token -arc \(arc)")
        }
        return lines
    }

    /// Says for each place of a secure string whether the call has a placeholder there, and whether a string took its place.
    ///
    /// The lines have names only: a placeholder may be a secret that is in the wrong place.
    /// - Parameter sent: The request as it leaves; nil when it is sealed for the relay.
    /// - Returns: A line for each place.
    private func substitutionLines(in sent: TransportRequest?) -> [String] {
        func line(_ place: String, _ given: [String], _ prefix: String, _ sentValues: [String]?) -> String {
            guard !given.isEmpty else { return "* no secure string: the call has no \(place)" }
            guard given.contains(where: { $0.hasPrefix(prefix) && $0 != prefix }) else {
                return "* no secure string: the \(place) has no placeholder"
            }
            guard let sentValues else { return "* the \(place) has a placeholder" }
            return sentValues == given
                ? "* the placeholder in the \(place): no secure string has this key; the value is sent unchanged"
                : "* a secure string takes the place of the placeholder in the \(place)"
        }
        let target = sent.flatMap { URL(string: $0.url.text) }
        return substitutedHeaders.map { place in
            let name = HTTPField.Name(place.name)
            let given = headers.filter { HTTPField.Name($0.name) == name }.map { $0.value.trimmingCharacters(in: .whitespaces) }
            return line("header \(place.name)", given, place.prefix, sent.map { sent in name.map { sent.headerFields[values: $0] } ?? [] })
        }
            + substitutedQueryParameters.map { name in
                line("query parameter \(LoggableText.name(name))", Self.items(name, of: url), "", target.map { Self.items(name, of: $0) })
            }
    }

    private static func items(_ name: String, of url: URL) -> [String] {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        return items.filter { $0.name == name }.compactMap(\.value)
    }

    private var relayHost: CanonicalHost? {
        (relay ?? service?.configuration.oblivious?.relay).flatMap { try? TransportURL($0).host }
    }

    /// The ARC of the request's token; nil when the request carries none.
    ///
    /// The token is from the last attestation, or in the cache under the same binding.
    private func arc(at url: URL, of request: TransportRequest, isRelayed: Bool) async -> String? {
        guard let service else { return nil }
        let values = bind.compactMap { HTTPField.Name($0) }.compactMap { name in
            isRelayed ? headers.last { HTTPField.Name($0.name) == name }?.value : request.headerFields[name]
        }
        let token = HTTPField.Name(TokenHeader().name)
        guard isRelayed || token.map({ request.headerFields.contains($0) }) == true else { return nil }
        let arc: String
        if let last = service.lastResult, last.host == (try? TransportURL(url))?.host.name {
            arc = last.arc
        } else {
            arc = await service.fetchToken(for: url, binding: values.isEmpty ? nil : values.joined()).arc
        }
        return arc.isEmpty ? nil : arc
    }

    private static func shown(_ url: URL) -> String {
        let port = url.port.map { ":\($0)" } ?? ""
        return "\(url.scheme ?? "")://\(url.host() ?? "")\(port)\(url.path())"
    }
}
