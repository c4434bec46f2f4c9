import CertificatePinning
import Foundation
import HTTPClient
import Synchronization

/// The certificates that a server presents.
///
/// They come from our own transport, with an evaluator that refuses every server, so that no byte of HTTP is sent.
struct PresentedChain: Sendable {
    /// The validated path or, without one, the certificates that the server sent.
    let certificates: [Certificate]
    /// The reason why no path validates; nil when one does.
    let refusal: TrustRefusal?

    private struct Collector: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
            .refused(TrustRefusal(.other, trust: trust, detail: "asked for its certificates only"))
        }
    }

    /// Keeps the rule's last violation: the collector's refusal, or that of path validation.
    private final class Seen: Sendable {
        private let last = Mutex<TrustViolation?>(nil)
        var violation: TrustViolation? { last.withLock { $0 } }
        func set(_ violation: TrustViolation) { last.withLock { $0 = violation } }
    }

    /// Connects to a server and returns its certificates.
    ///
    /// - Parameters:
    ///   - url: The server's https URL.
    ///   - anchors: The roots to validate with; nil for the system's.
    /// - Returns: The certificates.
    /// - Throws: `CommandFailure` when the server cannot be reached or presents no certificate.
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
        throw CommandFailure("\(url.host) answered without a certificate")
    }
}
