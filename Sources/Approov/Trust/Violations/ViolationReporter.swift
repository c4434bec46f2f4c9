import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Logging
import Synchronization

/// Sends reports in the background, one at a time; submitting one never waits and never fails.
final class ViolationReporter: Sendable {
    /// The most reports that wait for a slow server; further ones are dropped and may be submitted again.
    static let queueLimit = 16
    /// The longest time for one report.
    private static let timeout: Duration = .seconds(10)
    private static let connectTimeout: Duration = .seconds(5)
    /// The largest answer of a report server, in bytes.
    private static let maximumAnswerBytes = 4_096

    /// Decides which reports may be sent; shared with the sending task.
    private final class Ledger: Sendable {
        private let limiter = Mutex(ReportLimiter<ViolationReport.Identity>())
        private let time: any TimeSource

        init(time: any TimeSource) { self.time = time }

        func admits(_ identity: ViolationReport.Identity) -> Bool { limiter.withLock { $0.admits(identity, at: time.uptime) } }
        var isHeld: Bool { limiter.withLock { $0.isHeld(at: time.uptime) } }
        func forget(_ identity: ViolationReport.Identity) { limiter.withLock { $0.forget(identity) } }

        func failed(_ identity: ViolationReport.Identity) {
            limiter.withLock {
                $0.forget(identity)
                $0.hold(from: time.uptime)
            }
        }
    }

    private let ledger: Ledger
    private let queue: AsyncStream<PinViolation>.Continuation
    private let sending: Task<Void, Never>

    /// Starts to wait for violations; connects to the report server only when the first one arrives.
    ///
    /// - Parameters:
    ///   - reports: Where and as whom to report.
    ///   - time: The clock.
    ///   - logger: Receives failures to report.
    /// - Throws: ``ApproovError`` with code `configurationError` when the URL cannot be used; `PinningError` with code `expiredAnchors` or
    ///   `anchorsNotYetValid` when none of the given roots is valid now.
    init(_ reports: ViolationReports, time: any TimeSource, logger: Logger) throws {
        let target = try reports.target()
        try reports.anchors?.requireValid(at: time.date)
        let ledger = Ledger(time: time)
        let (violations, queue) = AsyncStream.makeStream(
            of: PinViolation.self, bufferingPolicy: .bufferingOldest(Self.queueLimit))
        self.ledger = ledger
        self.queue = queue
        sending = Task.detached(priority: .utility) {
            var loaded: TrustPolicy?
            for await violation in violations {
                guard !ledger.isHeld else {
                    ledger.forget(ViolationReport.Identity(violation))
                    continue
                }
                do {
                    let policy = try loaded ?? reports.policy()
                    loaded = policy
                    try await Self.send(ViolationReport(violation: violation, reports: reports), to: target, policy: policy)
                } catch {
                    ledger.failed(ViolationReport.Identity(violation))
                    logger.warning(
                        "a violation could not be reported; no violation is reported for a minute", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    deinit {
        queue.finish()
        sending.cancel()
    }

    /// Queues a report, unless an identical one was sent within 24 hours, a report failed within the last minute, or the queue is full.
    func submit(_ violation: PinViolation) {
        let identity = ViolationReport.Identity(violation)
        guard ledger.admits(identity) else { return }
        if case .enqueued = queue.yield(violation) { return }
        ledger.forget(identity)
    }

    private static func send(_ report: ViolationReport, to target: TransportURL, policy: TrustPolicy) async throws {
        var options = TransferOptions()
        options.connectTimeout = connectTimeout
        options.totalTimeout = timeout
        options.maximumBodyBytes = maximumAnswerBytes
        let request = TransportRequest(
            url: target, method: .post, headerFields: [.contentType: "application/json"], body: .bytes(report.serialized), policy: policy,
            options: options)
        let status: Int
        if let transport = report.reports.transport {
            status = try await transport.send(request).status
        } else {
            // A separate transport keeps its connections and limits apart from the app's. Close it afterwards, because reports are rare.
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            status = try await transport.send(request).status
        }
        guard (200..<300).contains(status) else {
            throw ApproovError(.networkingError, "the report server at \(target.host) answered \(status)")
        }
    }
}
