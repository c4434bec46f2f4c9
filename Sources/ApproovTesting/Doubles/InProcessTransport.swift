import CertificatePinning
import Foundation
public import HTTPClient
public import HTTPTypes
import Synchronization

/// A transport without a network: a closure answers each request, and every request is recorded.
///
/// If a host has a certificate here, the request's trust policy first evaluates its chain, as in a handshake. A refused request fails with
/// `trustRefused` and never reaches the closure. Hosts without a certificate are not evaluated.
///
///     let transport = InProcessTransport(certificates: ["api.test": leaf]) { request in
///         .init(status: 200, url: request.url, body: ResponseBody(bytes: Array("hello".utf8)))
///     }
public final class InProcessTransport: HTTPTransport, CancellableTransport {
    private let certificates: [String: TestCertificate]
    private let handler: @Sendable (TransportRequest) async throws -> TransportResponse
    private let state = Mutex<(answered: [TransportRequest], refused: [TransportRequest])>(([], []))

    /// Makes a transport whose responses come from a closure.
    /// - Parameters:
    ///   - certificates: The servers' certificates, by host name.
    ///   - handler: Receives each request that passed the evaluation and returns the response. It may wait and throw.
    public init(
        certificates: [String: TestCertificate] = [:],
        handler: @escaping @Sendable (TransportRequest) async throws -> TransportResponse
    ) {
        self.certificates = Dictionary(certificates.map { ((try? CanonicalHost($0.key).name) ?? $0.key, $0.value) }) { first, _ in first }
        self.handler = handler
    }

    /// Makes a transport that gives every request the same response.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public convenience init(status: Int, headerFields: HTTPFields = [:], body: [UInt8] = []) {
        self.init { request in
            TransportResponse(status: status, headerFields: headerFields, url: request.url, body: ResponseBody(bytes: body))
        }
    }

    /// Evaluates the host's certificate if it has one, records the request, and calls the handler.
    /// - Parameter request: The request.
    /// - Returns: The handler's response.
    /// - Throws: `TransportError` with code `trustRefused` when the policy refuses the certificate; the handler's errors.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        var recorded = request
        // Neither what is recorded nor what the handler keeps may keep the request in flight.
        recorded.options.cancellation = nil
        do {
            try judge(request)
        } catch {
            state.withLock { [recorded] in $0.refused.append(recorded) }
            throw error
        }
        state.withLock { [recorded] in $0.answered.append(recorded) }
        guard let cancellation = request.options.cancellation else { return try await handler(recorded) }
        return try await cancellation.runInTask { [handler, recorded] in try await handler(recorded) }.cancelled(by: cancellation)
    }

    private func judge(_ request: TransportRequest) throws {
        guard request.url.isSecure, let certificate = certificates[request.url.host.name] else { return }
        do throws(TrustRefusal) {
            let rule = try request.policy.rule(for: request.url.host)
            let chain: [Certificate]
            do {
                chain = try certificate.chain().map { try Certificate(der: $0.der) }
            } catch {
                throw TrustRefusal(.malformedCertificate, host: request.url.host.name, detail: "\(error)")
            }
            _ = try ChainValidator.evaluate(
                chain: chain, host: request.url.host, rule: rule, defaultAnchors: request.policy.defaultAnchors, time: Date()
            ).get()
        } catch {
            throw TransportError(.trustRefused, "the server's certificate was refused; nothing was sent", cause: error)
        }
    }

    /// The requests that reached the handler, in order.
    public var requests: [TransportRequest] { state.withLock(\.answered) }

    /// The requests whose server was refused by the trust policy, in order.
    public var refusedRequests: [TransportRequest] { state.withLock(\.refused) }
}
