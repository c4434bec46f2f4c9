internal import ApproovBase
internal import Foundation
public import Logging

/// Refuses servers whose certificates were revoked: by a stapled OCSP response, by OCSP (RFC 6960), or by a CRL (RFC 5280 §5).
///
/// The sources are asked in this order until one answers for a certificate: first the first place that it names, then the second
/// responder and the first two CRLs at once. What has to be looked up is looked up between two handshakes,
/// so that no other request waits for it, and what was verified is kept for as long as it holds. Every certificate of the validated path
/// but the root is checked.
///
/// It fails hard: a certificate about which nothing can be found out is refused, unless it is an intermediate's that names no source at
/// all, neither an OCSP responder nor a CRL. An intermediate that names only sources that are not looked at (a CRL where
/// ``Sources/crl`` is left out, an https URL) is one about which nothing can be found out. Where an answer came and does not count, the
/// server is refused for 30 seconds without a further look-up.
///
/// ``Failure/soft`` lets such servers pass, which helps against keys that are known to be stolen, and not against somebody who holds one
/// and stands in the way of the look-ups.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// Where the status of a certificate may come from.
    public struct Sources: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The OCSP response that the server staples to the handshake, about its own certificate.
        public static let stapledResponse = Sources(rawValue: 1)
        /// The OCSP responder that a certificate names.
        public static let ocsp = Sources(rawValue: 2)
        /// The CRL that a certificate names.
        public static let crl = Sources(rawValue: 4)
        /// All of them.
        public static let all: Sources = [.stapledResponse, .ocsp, .crl]
        /// What needs no network of its own.
        ///
        /// A staple is about the server's own certificate: with nothing else among the sources, intermediates are not judged, whatever
        /// the scope.
        public static let withoutNetwork: Sources = [.stapledResponse]
    }

    /// What happens to a server about whose certificates nothing can be found out.
    public enum Failure: Sendable {
        /// It is refused.
        case hard
        /// DANGER: it passes, with a warning in the log; only what is known to be revoked is refused.
        case soft
    }

    /// Which certificates of the validated path are checked.
    public enum Scope: Sendable {
        /// The server's own.
        case leaf
        /// The server's own and the intermediates'; of these, one that names no source passes, and all do where staples are the only
        /// source.
        case path
    }

    /// How long a look-up that brought nothing is not tried again when failures are soft, in seconds.
    private static let softProblemLifetime: TimeInterval = 300
    /// How long an answer that does not count is not fetched and judged again when failures are hard, in seconds.
    ///
    /// Judging happens on the transport's thread; short, because the refusal lasts as long.
    private static let hardProblemLifetime: TimeInterval = 30
    /// The most responders, and the most CRLs, that are asked about one certificate.
    private static let maximumPlaces = 2
    /// The longest problem that is kept, in characters.
    private static let maximumProblemLength = 500

    private let sources: Sources
    private let failure: Failure
    private let scope: Scope
    private let logger: Logger
    private let cache = RevocationCache()
    private let announced = AnnouncedHosts()

    /// Asks servers for the stapled response, where it is one of the sources.
    public let conditions: TrustConditions

    /// Makes the evaluator: every source, hard failure, the whole path.
    public init() { self.init(sources: .all) }

    /// Makes the evaluator.
    ///
    /// - Parameters:
    ///   - sources: Where the status may come from; without any, every server is refused.
    ///   - failure: What happens when it does not come.
    ///   - scope: Which certificates are checked.
    ///   - logger: Where servers are reported that passed unchecked.
    public init(
        sources: Sources, failure: Failure = .hard, scope: Scope = .path, logger: Logger = Logger(label: "approov.trust")
    ) {
        self.sources = sources
        self.failure = failure
        self.scope = scope
        self.logger = logger
        var conditions = TrustConditions()
        conditions.requestsStatus = sources.contains(.stapledResponse)
        self.conditions = conditions
    }

    private enum Finding {
        case good
        case revoked(Date?)
        case needs([TrustLookup])
        case unknown(String)
    }

    /// Trusts a path of which no certificate is revoked.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        guard trust.isPathValidated else {
            return .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: "revocation is checked on validated paths only"))
        }
        var lookups: [TrustLookup] = []
        for (index, (certificate, issuer)) in zip(trust.chain, trust.chain.dropFirst()).enumerated() {
            guard index == 0 || scope == .path else { break }
            let issued = IssuedCertificate(certificate: certificate, issuer: issuer)
            switch finding(about: issued, isLeaf: index == 0, trust) {
            case .good: continue
            case .needs(let more): lookups += more.filter { !lookups.contains($0) }
            case .revoked(let date):
                let since = date.map { " since \($0)" } ?? ""
                return .refused(
                    TrustRefusal(
                        .revoked, trust: trust,
                        detail: "\(Self.name(certificate, index)) is revoked\(since): the server needs a new one with a new key"))
            case .unknown(let problem):
                guard failure == .soft else {
                    return .refused(
                        TrustRefusal(
                            .revocationUnknown, trust: trust,
                            detail:
                                "whether \(Self.name(certificate, index)) is revoked cannot be found out: \(problem); look whether what it"
                                + " names can be reached from here, let the server staple, or let such servers pass with failure: .soft"))
                }
                warn(host, problem)
            }
        }
        return lookups.isEmpty ? .trusted : .needs(lookups)
    }

    private static func name(_ certificate: Certificate, _ index: Int) -> String {
        index == 0 ? "the server's certificate" : "the certificate \"\(certificate.subject)\""
    }

    private func finding(about issued: IssuedCertificate, isLeaf: Bool, _ trust: ServerTrust) -> Finding {
        let key = RevocationCache.Key(issued)
        let known = cache.knowledge(of: key, at: trust.time)
        // Revoked stays revoked: a server could staple an older answer that still holds.
        if case .status(let status) = known, status.value != .good { return Self.finding(status) }
        var problems: [String] = []
        if isLeaf, sources.contains(.stapledResponse) {
            if let bytes = trust.stapledResponse {
                switch judge("the stapled response", key, trust, { try OCSPResponse.status(bytes, of: issued, at: trust.time) }) {
                case .success(let finding): return finding
                case .failure(let problem): problems.append(problem.description)
                }
            } else {
                problems.append("the server stapled no response")
            }
        }
        switch known {
        case .status(let status): return Self.finding(status)
        case .problem(let problem): return .unknown("a look-up failed a short while ago: \(problem)")
        case nil: break
        }
        var wasJudged = false
        let places = self.lookups(about: issued)
        for (index, lookup) in places.enumerated() {
            guard let result = trust.lookupResults[lookup] else {
                // One is asked first; where it brings nothing, all the others at once, as there is one more round of look-ups.
                return .needs(index == 0 ? [lookup] : places.filter { trust.lookupResults[$0] == nil })
            }
            let name = "\(lookup.kind == .ocsp ? "the OCSP response" : "the CRL") of \(lookup.url)"
            if let failure = result.failure {
                problems.append("\(name) did not come: \(failure)")
                continue
            }
            wasJudged = true
            let judged = judge(name, key, trust) {
                switch lookup.kind {
                case .ocsp: return try OCSPResponse.status(result.bytes, of: issued, at: trust.time)
                case .crl:
                    guard let list = result.list else { throw RevocationProblem("it is the result of another look-up") }
                    return try list.get().status(of: issued, at: trust.time)
                }
            }
            switch judged {
            case .success(let finding): return finding
            case .failure(let problem): problems.append(problem.description)
            }
        }
        guard !problems.isEmpty else {
            let isExempt = !isLeaf && (sources == .stapledResponse || !issued.certificate.namesRevocationSource)
            return isExempt
                ? .good
                : .unknown(
                    "it names no source that is looked at: allow all sources (OCSP and CRLs, over plain http only), or check the leaf alone"
                )
        }
        let problem = problems.joined(separator: "; ")
        // Under hard failure, what did not come at all is tried again at once: that costs nobody else's time.
        if failure == .soft || wasJudged {
            let lifetime = failure == .soft ? Self.softProblemLifetime : Self.hardProblemLifetime
            cache.store(
                .problem(String(problem.prefix(Self.maximumProblemLength))), of: key, at: trust.time,
                until: trust.time.addingTimeInterval(lifetime))
        }
        return .unknown(problem)
    }

    /// Reads an answer, and keeps what it says when it counts.
    private func judge(
        _ name: String, _ key: RevocationCache.Key, _ trust: ServerTrust, _ read: () throws -> RevocationStatus
    ) -> Result<Finding, RevocationProblem> {
        do {
            let status = try read()
            cache.store(.status(status), of: key, at: trust.time, until: status.validUntil)
            return .success(Self.finding(status))
        } catch {
            return .failure(RevocationProblem("\(name) does not count: \(error)"))
        }
    }

    private static func finding(_ status: RevocationStatus) -> Finding {
        switch status.value {
        case .good: .good
        case .revoked(let date): .revoked(date)
        }
    }

    private func lookups(about issued: IssuedCertificate) -> [TrustLookup] {
        var lookups: [TrustLookup] = []
        if sources.contains(.ocsp), let request = OCSPResponse.request(for: issued) {
            lookups += issued.certificate.ocspURLs.prefix(Self.maximumPlaces).map {
                TrustLookup(kind: .ocsp, url: $0, requestBody: request)
            }
        }
        if sources.contains(.crl) {
            lookups += issued.certificate.crlURLs.prefix(Self.maximumPlaces).map { TrustLookup(kind: .crl, url: $0) }
        }
        return lookups
    }

    private func warn(_ host: String, _ problem: String) {
        guard announced.isNew(host) else { return }
        logger.warning(
            "revocation could not be checked for this host, and the server passes for the failure is soft",
            metadata: ["host": "\(LoggableText.quoted(host, limit: 253))", "problem": "\(LoggableText.quoted(problem, limit: 500))"])
    }
}
