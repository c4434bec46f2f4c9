import ApproovBase
import Attestation
import CertificatePinning
import Logging
import Synchronization

/// Passes violations from handshakes to the streams, the report server and the log.
final class ViolationRecorder: Sendable {
    /// The most violations buffered for a listener that does not read.
    static let backlogLimit = 64

    let streams = EventStreams<PinViolation>(backlogLimit: ViolationRecorder.backlogLimit)
    private let reporter: ViolationReporter?
    /// Limits the log entries.
    private let told = Mutex(ReportLimiter<ViolationReport.Identity>())
    private let time: any TimeSource
    private let logger: Logger

    init(reporter: ViolationReporter?, time: any TimeSource, logger: Logger) {
        self.reporter = reporter
        self.time = time
        self.logger = logger
    }

    /// Returns the observer for a trust rule; called during handshakes.
    func observer(for noted: PinViolation.ObservedHost) -> @Sendable (TrustViolation) -> Void {
        { [self] in record(PinViolation($0, noted: noted)) }
    }

    private func record(_ violation: PinViolation) {
        if !violation.isRefused, told.withLock({ $0.admits(ViolationReport.Identity(violation), at: time.uptime) }) {
            // A refusal reaches the caller as the request's error. Without the log, a violation that is not enforced would go unnoticed.
            logger.warning("a rule that is not enforced would refuse the server", metadata: ["refusal": "\(violation.refusal)"])
        }
        streams.send(violation)
        reporter?.submit(violation)
    }
}
