public import ApproovBase
internal import Attestation
public import CertificatePinning
public import Logging
import Synchronization

/// Maps hosts to what their servers must satisfy: the caller's evaluators, and the pins of the account's hosts.
///
/// ```swift
/// let manager = ApproovTrustManager(
///     allHostsMustBeEvaluated: true,
///     evaluators: [
///         "payments.example.com": try PublicKeysTrustEvaluator(pins: [try Pin("sha256/…"), try Pin("sha256/…")]),
///         "*.example.org": DefaultTrustEvaluator(),
///     ])
/// ```
///
/// Hosts that the configuration protects need not be named: their pins are there from the initial configuration on and follow every
/// newer one. The most specific of the caller's patterns around a protected host is asked after its pins, a wider one than the host's
/// own entry as well. Every host is validated by path at least, also those that neither names, but for those of a
/// ``DisabledTrustEvaluator`` that are not protected.
///
/// Servers that do not satisfy their rules are told by ``violations()`` and, with ``ViolationReports``, to a server of one's choice.
public final class ApproovTrustManager: Sendable {
    /// Whether hosts are refused that have neither an evaluator nor an entry in the configuration.
    public let allHostsMustBeEvaluated: Bool
    private let patterns: Result<[(HostPattern, any ServerTrustEvaluating)], any Error>
    private let anchors: Mutex<TrustAnchors?>
    private let recorder: ViolationRecorder
    /// Why no server could be trusted.
    private let anchorsFlaw: (any Error)?
    /// Why there are no reports although they were asked for.
    private let reportsFlaw: (any Error)?
    private let logger: Logger

    /// Maps hosts to evaluators.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether hosts are refused that have neither an evaluator nor an entry in the configuration.
    ///   - evaluators: Evaluators by host: `api.example.com`, `*.example.com` for the names with one label more, or `**.example.com` for
    ///     those with one or more. Neither of the two is for example.com itself, which needs an entry of its own. A malformed host is
    ///     reported where the manager is first used: making a session with it throws.
    ///   - anchors: The roots that paths end in; nil: those of the system. Roots of which none holds today are reported as well.
    ///   - reports: Where servers are reported that were refused, or would have been if pins were enforced; nil: nowhere.
    ///   - clock: What the rate of reports is measured by.
    ///   - logger: Where an evaluator that has no effect, pins that are not enforced and do not match, and reports that fail are told.
    public convenience init(
        allHostsMustBeEvaluated: Bool = false, evaluators: [String: any ServerTrustEvaluating] = [:], anchors: TrustAnchors? = nil,
        reports: ViolationReports? = nil, clock: any TimeSource = SystemTimeSource(), logger: Logger = Logger(label: "approov.trust")
    ) {
        self.init(
            allHostsMustBeEvaluated: allHostsMustBeEvaluated,
            patterns: Result { try evaluators.map { (try HostPattern($0.key), $0.value) } }, anchors: anchors, reports: reports,
            clock: clock,
            logger: logger)
    }

    /// Maps host patterns to evaluators: for a name with all below it, and for names that are left out.
    ///
    /// ```swift
    /// let internalHosts = try HostPattern("corp.example.com", includeSubdomains: true, excluding: ["guests.corp.example.com"])
    /// let manager = ApproovTrustManager(patterns: [(internalHosts, DefaultTrustEvaluator())])
    /// ```
    ///
    /// What is excluded from a pattern is as if the pattern did not exist: the next wider one is for it, or none. It takes no protection
    /// away from the account's hosts.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether hosts are refused that have neither an evaluator nor an entry in the configuration.
    ///   - patterns: Evaluators by pattern. Two for the same hosts are reported where the manager is first used: making a session with it
    ///     throws.
    ///   - anchors: The roots that paths end in; nil: those of the system. Roots of which none holds today are reported as well.
    ///   - reports: Where servers are reported that were refused, or would have been if pins were enforced; nil: nowhere.
    ///   - clock: What the rate of reports is measured by.
    ///   - logger: Where an evaluator that has no effect, pins that are not enforced and do not match, and reports that fail are told.
    public convenience init(
        allHostsMustBeEvaluated: Bool = false, patterns: [(HostPattern, any ServerTrustEvaluating)], anchors: TrustAnchors? = nil,
        reports: ViolationReports? = nil, clock: any TimeSource = SystemTimeSource(), logger: Logger = Logger(label: "approov.trust")
    ) {
        self.init(
            allHostsMustBeEvaluated: allHostsMustBeEvaluated, patterns: .success(patterns), anchors: anchors, reports: reports,
            clock: clock,
            logger: logger)
    }

    private init(
        allHostsMustBeEvaluated: Bool, patterns: Result<[(HostPattern, any ServerTrustEvaluating)], any Error>, anchors: TrustAnchors?,
        reports: ViolationReports?, clock: any TimeSource, logger: Logger
    ) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.patterns = patterns
        self.anchors = Mutex(anchors)
        // Now, and not whenever a configuration comes: roots that end while the app runs refuse servers, and nothing else.
        anchorsFlaw = Result { try anchors?.requireValid(at: clock.date) }.failure
        self.logger = logger
        let reporter = Result { try reports.map { try ViolationReporter($0, time: clock, logger: logger) } }
        switch reporter {
        case .success(let reporter): (recorder, reportsFlaw) = (ViolationRecorder(reporter: reporter, time: clock, logger: logger), nil)
        case .failure(let flaw): (recorder, reportsFlaw) = (ViolationRecorder(reporter: nil, time: clock, logger: logger), flaw)
        }
    }

    /// The servers that were refused from now on, and those that would have been if pins were enforced; the first listener also hears of
    /// those before it came.
    ///
    /// Of servers of protected and evaluated hosts, and of the authority's once a session has the manager; others are validated by path,
    /// which the request's error tells.
    ///
    /// - Returns: A stream of its own for every listener, which ends with the manager and its sessions. Of what is not read, the newest 64
    ///   are kept.
    public func violations() -> AsyncStream<PinViolation> { recorder.streams.stream() }

    /// Hears of refusals of the authority's server as well.
    func listen(to watch: AuthorityWatch) { watch.add(recorder) }

    /// The policy for the account's hosts and the caller's evaluators together.
    ///
    /// - Throws: ``ApproovError`` `configurationError` when a host among the evaluators is malformed or named twice, there
    ///   are no roots or none that held when the manager was made, or violations cannot be reported where they shall be.
    func policy(protecting protectedHosts: [ProtectedHost]) throws -> TrustPolicy {
        do {
            if let flaw = anchorsFlaw ?? reportsFlaw { throw flaw }
            let anchors = try anchors.withLock { anchors in
                let loaded = try anchors ?? TrustAnchors.system()
                anchors = loaded
                return loaded
            }
            let compiler = PolicyCompiler(
                evaluators: try patterns.get(), refusesUnmatchedHosts: allHostsMustBeEvaluated, anchors: anchors,
                recorder: recorder, logger: logger)
            return try compiler.policy(protecting: protectedHosts)
        } catch {
            throw ApproovError(.configurationError, "the trust manager cannot be used", cause: error)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
