public import ApproovBase
internal import Attestation
public import CertificatePinning
public import Logging
import Synchronization

/// Decides which servers to trust, host by host, from the account's pins and the caller's evaluators.
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
/// Hosts that the configuration protects need no entry: their pins apply from the initial configuration on and follow every newer one.
/// If one of the caller's patterns covers a protected host, the evaluator of the most specific such pattern is asked after the pins; the
/// pattern may be wider than the host's own entry. That holds across a public suffix too, but the host then sees no client certificate.
/// Every other host still gets path validation. Only a `DisabledTrustEvaluator` turns that off, and it has no effect on protected hosts.
///
/// Servers that fail their rules are reported by ``violations()`` and, with ``ViolationReports``, to a report server of your choice.
public final class ApproovTrustManager: Sendable {
    /// Whether to refuse hosts that have neither an evaluator nor an entry in the configuration.
    public let allHostsMustBeEvaluated: Bool
    private let patterns: Result<[(HostPattern, any ServerTrustEvaluating)], any Error>
    private let anchors: Mutex<TrustAnchors?>
    private let recorder: ViolationRecorder
    /// Why the roots cannot be used; every use of the manager then fails.
    private let anchorsFlaw: (any Error)?
    /// Why the requested reports cannot be sent; every use of the manager then fails.
    private let reportsFlaw: (any Error)?
    private let logger: Logger

    /// Makes a manager from evaluators by host.
    ///
    /// A malformed host, roots that are all expired or not yet valid, and an unusable report URL are reported at first use: the initializer
    /// of a session with the manager throws.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether to refuse hosts that have neither an evaluator nor an entry in the configuration.
    ///   - evaluators: The evaluators by host. `api.example.com` matches that host, `*.example.com` the names with exactly one more label,
    ///     `**.example.com` those with one or more. Neither pattern matches example.com itself, which needs its own entry.
    ///   - anchors: The roots that certificate paths must end in; nil means the system's.
    ///   - reports: Where to report servers that were refused, or would have been if pins were enforced; nil means nowhere.
    ///   - clock: The clock that limits the rate of reports.
    ///   - logger: Receives evaluators without effect, mismatches of pins that are not enforced, and failures to report.
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

    /// Makes a manager from evaluators by pattern, which can include subdomains and exclude names.
    ///
    /// ```swift
    /// let internalHosts = try HostPattern("corp.example.com", includeSubdomains: true, excluding: ["guests.corp.example.com"])
    /// let manager = ApproovTrustManager(patterns: [(internalHosts, DefaultTrustEvaluator())])
    /// ```
    ///
    /// An excluded name is treated as if the pattern did not exist: the next wider pattern applies, if any. Exclusions do not affect the
    /// protection of the account's hosts.
    ///
    /// Two patterns for the same hosts, roots that are all expired or not yet valid, and an unusable report URL are reported at first use:
    /// the initializer of a session with the manager throws.
    ///
    /// - Parameters:
    ///   - allHostsMustBeEvaluated: Whether to refuse hosts that have neither an evaluator nor an entry in the configuration.
    ///   - patterns: The evaluators by pattern.
    ///   - anchors: The roots that certificate paths must end in; nil means the system's.
    ///   - reports: Where to report servers that were refused, or would have been if pins were enforced; nil means nowhere.
    ///   - clock: The clock that limits the rate of reports.
    ///   - logger: Receives evaluators without effect, mismatches of pins that are not enforced, and failures to report.
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
        // Check once, not with every configuration: roots that expire while the app runs fail path validation, nothing more.
        anchorsFlaw = Result { try anchors?.requireValid(at: clock.date) }.failure
        self.logger = logger
        let reporter = Result { try reports.map { try ViolationReporter($0, time: clock, logger: logger) } }
        switch reporter {
        case .success(let reporter): (recorder, reportsFlaw) = (ViolationRecorder(reporter: reporter, time: clock, logger: logger), nil)
        case .failure(let flaw): (recorder, reportsFlaw) = (ViolationRecorder(reporter: nil, time: clock, logger: logger), flaw)
        }
    }

    /// Streams the servers that are refused from now on, and those that would be if pins were enforced.
    ///
    /// The first listener also receives earlier violations. The stream covers protected hosts, hosts with an evaluator and, once a session
    /// uses the manager, the authority. Other hosts only get path validation; the request's error reports its failures.
    ///
    /// - Returns: A separate stream for each caller, which ends with the manager and its sessions. It buffers the newest 64 unread events.
    public func violations() -> AsyncStream<PinViolation> { recorder.streams.stream() }

    /// Also records the trust refusals of connections to the authority.
    func listen(to forwarder: AuthorityViolationForwarder) { forwarder.add(recorder) }

    /// Compiles the account's hosts and the caller's evaluators into one policy.
    ///
    /// - Throws: ``ApproovError`` with code `configurationError` when an evaluator's host is malformed or named twice, there are no roots,
    ///   no given root was valid when the manager was made, or violations cannot be reported to the given URL.
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
