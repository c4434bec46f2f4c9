import CertificatePinning
import Foundation
import HTTPClient
import Synchronization

/// What a server presents, asked for through our own trust path: an evaluator refuses, so that not a byte of HTTP is sent.
struct PresentedChain: Sendable {
    /// The validated path; where there is none, the certificates that the server sent.
    let certificates: [Certificate]
    /// Why there is no validated path; nil when there is one.
    let refusal: TrustRefusal?

    private struct Collector: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
            .refused(TrustRefusal(.other, trust: trust, detail: "asked for its certificates only"))
        }
    }

    /// Keeps what the rule tells of its last violation: what the collector refused, or what path validation did.
    private final class Seen: Sendable {
        private let last = Mutex<TrustViolation?>(nil)
        var violation: TrustViolation? { last.withLock { $0 } }
        func set(_ violation: TrustViolation) { last.withLock { $0 = violation } }
    }

    /// Asks a server.
    ///
    /// - Parameters:
    ///   - url: The server, an https URL.
    ///   - anchors: The roots to validate with; nil: those of the system.
    /// - Returns: What it presents.
    /// - Throws: `TransportError` when it cannot be reached, `CommandFailure` when it presents nothing.
    static func of(_ url: TransportURL, anchors: TrustAnchors? = nil) async throws -> PresentedChain {
        let seen = Seen()
        let rule = TrustRule(evaluators: [Collector()], observer: { seen.set($0) })
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern(url.host), rule)]), defaultAnchors: try anchors ?? TrustAnchors.system())
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        do {
            _ = try await transport.send(TransportRequest(url: url, policy: policy))
        } catch let error as TransportError {
            guard let violation = seen.violation, !violation.certificates.isEmpty else {
                throw CommandFailure("\(url.host) port \(url.port): \(error)")
            }
            return PresentedChain(
                certificates: violation.certificates, refusal: violation.isPathValidated ? nil : violation.refusal)
        }
        throw CommandFailure("\(url.host) answered without presenting a certificate")
    }
}
