internal import ApproovBase
internal import Foundation
public import Logging

/// Refuses servers with a revoked certificate, by stapled OCSP response, OCSP (RFC 6960) or CRL (RFC 5280, section 5).
///
/// Every certificate of the validated path except the root is checked. The sources are tried in this order until one answers for the
/// certificate. The first look-up runs alone; if it brings no answer, all the others run at once (at most two responders and two CRLs per
/// certificate). Look-ups run between two handshakes, so that no other request waits for them, and verified answers are cached while they
/// are valid.
///
/// By default it fails hard: if the status of a certificate cannot be determined, the server is refused. Two kinds of intermediates are
/// exempt: those that name neither an OCSP responder nor a CRL, and all of them if stapled responses are the only source. An intermediate
/// that names only sources that are not used (a CRL without ``Sources/crl``, an https URL) is refused. If an answer arrived but is not
/// valid, the server is refused for 30 seconds without another look-up.
///
/// ``Failure/soft`` trusts such servers. This protects against keys that are known to be stolen, but not against an attacker who has such
/// a key and can block the look-ups.
public struct RevocationTrustEvaluator: ServerTrustEvaluating {
    /// The sources of a certificate's status.
    public struct Sources: OptionSet, Sendable {
        /// The bits of the set.
        public let rawValue: Int

        /// Makes a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The OCSP response that the server staples to the handshake; it covers the server's own certificate.
        public static let stapledResponse = Sources(rawValue: 1)
        /// The OCSP responders that a certificate names.
        public static let ocsp = Sources(rawValue: 2)
        /// The CRLs that a certificate names.
        public static let crl = Sources(rawValue: 4)
        /// All sources.
        public static let all: Sources = [.stapledResponse, .ocsp, .crl]
        /// The source that needs no network connection.
        ///
        /// A stapled response covers only the server's own certificate: if it is the only source, intermediates are not checked, whatever
        /// the scope.
        public static let withoutNetwork: Sources = [.stapledResponse]
    }

    /// What to do with a server whose certificates' status cannot be determined.
    public enum Failure: Sendable {
        /// The server is refused.
        case hard
        /// DANGER: the server is trusted, with a warning in the log; only certificates known to be revoked are refused.
        case soft
    }

    /// Which certificates of the validated path are checked.
    public enum Scope: Sendable {
        /// The server's own certificate.
        case leaf
        /// The server's own certificate and the intermediates.
        ///
        /// An intermediate that names no source passes. If stapled responses are the only source, every intermediate passes.
        case path
    }

    /// How long a failed look-up is not repeated when failures are soft, in seconds.
    private static let softProblemLifetime: TimeInterval = 300
    /// How long an invalid answer is not fetched and judged again when failures are hard, in seconds.
    ///
    /// Judging runs on the transport's thread, so it must not repeat too often; but the server stays refused for this long, so it is short.
    private static let hardProblemLifetime: TimeInterval = 30
    /// The largest number of responders, and of CRLs, that are asked about one certificate.
    private static let maximumPlaces = 2
    /// The length limit of a cached, logged or reported problem, in characters.
    private static let maximumProblemLength = 500
    /// The length limit of a certificate's subject in a refusal, in characters; its remedy must fit as well.
    private static let maximumSubjectLength = 200

    private let sources: Sources
    private let failure: Failure
    private let scope: Scope
    private let logger: Logger
    private let cache = RevocationCache()
    private let announced = AnnouncedHosts()

    /// Asks servers for a stapled response if that is one of the sources.
    public let conditions: TrustConditions

    /// Makes the evaluator with all sources, hard failure and the whole path.
    public init() { self.init(sources: .all) }

    /// Makes the evaluator.
    ///
    /// - Parameters:
    ///   - sources: The sources of a certificate's status; an empty set refuses every server.
    ///   - failure: What to do when no source answers.
    ///   - scope: Which certificates are checked.
    ///   - logger: The logger that is warned of servers that passed unchecked.
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

    /// Trusts a path without a revoked certificate.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        guard trust.isPathValidated else {
            return .refused(
                TrustRefusal(
                    .evaluatorFailed, trust: trust,
                    detail:
                        "revocation can only be checked on a validated path; do not combine it with an evaluator that skips path validation"
                ))
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
                        detail: "\(Self.name(certificate, index)) is revoked\(since); the server needs a new one with a new key"))
            case .unknown(let problem):
                guard failure == .soft else {
                    return .refused(
                        TrustRefusal(
                            .revocationUnknown, trust: trust,
                            detail:
                                "the revocation of \(Self.name(certificate, index)) cannot be checked: "
                                + Self.cut(problem, to: Self.maximumProblemLength) + "; check that its OCSP and"
                                + " CRL servers can be reached, let the server staple a response, or allow such servers with failure: .soft"
                        ))
                }
                warn(host, problem)
            }
        }
        return lookups.isEmpty ? .trusted : .needs(lookups)
    }

    private static func name(_ certificate: Certificate, _ index: Int) -> String {
        index == 0 ? "the server's certificate" : "the certificate \"\(cut(certificate.subject, to: maximumSubjectLength))\""
    }

    private static func cut(_ text: String, to limit: Int) -> String {
        text.unicodeScalars.count > limit ? String(text.unicodeScalars.prefix(limit)) + "..." : text
    }

    private func finding(about issued: IssuedCertificate, isLeaf: Bool, _ trust: ServerTrust) -> Finding {
        let key = RevocationCache.Key(issued)
        let known = cache.knowledge(of: key, at: trust.time)
        // A revoked certificate stays revoked: the server could staple an older answer that is still valid.
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
        case .problem(let problem): return .unknown("an earlier look-up failed: \(problem)")
        case nil: break
        }
        /// When the first answer came that proved to be none.
        var receivedAt: Date?
        let places = self.lookups(about: issued)
        for (index, lookup) in places.enumerated() {
            guard let result = trust.lookupResults[lookup] else {
                // Only one more round of look-ups is possible: ask the first source alone, then all the others at once.
                return .needs(index == 0 ? [lookup] : places.filter { trust.lookupResults[$0] == nil })
            }
            let name = "\(lookup.kind == .ocsp ? "the OCSP response" : "the CRL") from \(lookup.url)"
            if let failure = result.failure {
                problems.append("\(name) cannot be fetched: \(failure)")
                continue
            }
            receivedAt = min(receivedAt ?? result.receivedAt, result.receivedAt)
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
                    "it names no source that may be used; allow all sources (OCSP and CRLs, only over plain http), or only check the leaf"
                )
        }
        let problem = problems.joined(separator: "; ")
        // When failures are hard, a look-up that brought no answer at all is repeated at once, because it delays no other request.
        if failure == .soft || receivedAt != nil {
            let lifetime = failure == .soft ? Self.softProblemLifetime : Self.hardProblemLifetime
            // An answer may have come for another request a moment ago.
            let begun = min(receivedAt ?? trust.time, trust.time)
            cache.store(
                .problem(Self.cut(problem, to: Self.maximumProblemLength)), of: key, at: trust.time,
                until: begun.addingTimeInterval(lifetime))
        }
        return .unknown(problem)
    }

    /// Reads an answer, and caches its status when it is valid.
    private func judge(
        _ name: String, _ key: RevocationCache.Key, _ trust: ServerTrust, _ read: () throws -> RevocationStatus
    ) -> Result<Finding, RevocationProblem> {
        do {
            let status = try read()
            cache.store(.status(status), of: key, at: trust.time, until: status.validUntil)
            return .success(Self.finding(status))
        } catch {
            return .failure(RevocationProblem("\(name) is not valid: \(error)"))
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
            "revocation could not be checked for this host; allowing the connection because failure is .soft",
            metadata: [
                "host": "\(LoggableText.quoted(host, limit: LoggableText.longestHost))",
                "problem": "\(LoggableText.quoted(problem, limit: Self.maximumProblemLength))",
            ])
    }
}
