import ApproovBase
import Attestation
import CertificatePinning
import Logging
import Synchronization

/// Takes violations from the handshakes to whoever wants to know: the streams, the reports and the log.
final class ViolationRecorder: Sendable {
    /// How many violations wait for a listener that does not read.
    static let backlogLimit = 64

    let streams = EventStreams<PinViolation>(backlogLimit: ViolationRecorder.backlogLimit)
    private let reporter: ViolationReporter?
    /// What the log was told.
    private let told = Mutex(ReportLimiter<ViolationReport.Identity>())
    private let time: any TimeSource
    private let logger: Logger

    init(reporter: ViolationReporter?, time: any TimeSource, logger: Logger) {
        self.reporter = reporter
        self.time = time
        self.logger = logger
    }

    /// What a rule tells of its violations; called inside handshakes.
    func observer(for noted: NotedHost) -> @Sendable (TrustViolation) -> Void {
        { [self] in record(PinViolation($0, noted: noted)) }
    }

    private func record(_ violation: PinViolation) {
        if !violation.isRefused, told.withLock({ $0.admits(ViolationReport.Identity(violation), at: time.uptime) }) {
            // What is refused, the caller hears as an error; this nobody would hear of.
            logger.warning("a rule that is not enforced would refuse the server", metadata: ["refusal": "\(violation.refusal)"])
        }
        streams.send(violation)
        reporter?.submit(violation)
    }
}
