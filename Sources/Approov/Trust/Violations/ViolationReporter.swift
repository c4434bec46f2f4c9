import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Logging
import Synchronization

/// Sends reports, one after another, beside everything else: whoever submits one never waits and never fails.
final class ViolationReporter: Sendable {
    /// How many reports wait for a slow server; further ones are dropped, and may be submitted again.
    static let queueLimit = 16
    /// How long one report may take.
    private static let timeout: Duration = .seconds(10)

    /// What may be sent, shared with the task that sends.
    private final class Ledger: Sendable {
        private let limiter = Mutex(ReportLimiter<ViolationReport.Identity>())
        private let time: any TimeSource

        init(time: any TimeSource) { self.time = time }

        func admits(_ identity: ViolationReport.Identity) -> Bool { limiter.withLock { $0.admits(identity, at: time.uptime) } }
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

    /// Begins to wait for violations; nothing is connected to before the first one.
    ///
    /// - Throws: ``ApproovError`` `configurationError` for a URL that reports cannot go to; `PinningError` `expiredAnchors` for roots none of
    ///   which holds now.
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
                do {
                    let policy = try loaded ?? reports.policy()
                    loaded = policy
                    try await Self.send(ViolationReport(violation: violation, reports: reports), to: target, policy: policy)
                } catch {
                    ledger.failed(ViolationReport.Identity(violation))
                    logger.warning(
                        "a violation could not be reported; nothing is reported for a minute", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    deinit {
        queue.finish()
        sending.cancel()
    }

    /// Sends a report, unless the same one was sent lately or too many wait.
    func submit(_ violation: PinViolation) {
        let identity = ViolationReport.Identity(violation)
        guard ledger.admits(identity) else { return }
        if case .enqueued = queue.yield(violation) { return }
        ledger.forget(identity)
    }

    private static func send(_ report: ViolationReport, to target: TransportURL, policy: TrustPolicy) async throws {
        var options = TransferOptions()
        options.connectTimeout = .seconds(5)
        options.totalTimeout = timeout
        options.maximumBodyBytes = 4_096
        let request = TransportRequest(
            url: target, method: .post, headerFields: [.contentType: "application/json"], body: .bytes(report.serialized), policy: policy,
            options: options)
        let status: Int
        if let transport = report.reports.transport {
            status = try await transport.send(request).status
        } else {
            // Of its own, so that its connections and limits are nobody else's; and gone afterwards, for reports are rare.
            let transport = try CurlTransport()
            defer { transport.shutdown() }
            status = try await transport.send(request).status
        }
        guard (200..<300).contains(status) else {
            throw ApproovError(.networkingError, "the report server at \(target.host) answered \(status)")
        }
    }
}
