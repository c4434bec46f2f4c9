import CertificatePinning
import Foundation
public import HTTPClient
public import HTTPTypes
import Synchronization

/// A transport without a network: a closure answers, every request is recorded.
///
/// When a host has a certificate here, its chain is judged by the request's own trust policy first, as a handshake would: what the
/// policy refuses fails with `trustRefused` and never reaches the closure. Hosts without a certificate are not judged.
///
///     let transport = InProcessTransport(certificates: ["api.test": leaf]) { request in
///         .init(status: 200, url: request.url, body: ResponseBody(bytes: Array("hello".utf8)))
///     }
public final class InProcessTransport: HTTPTransport {
    private let certificates: [String: TestCertificate]
    private let handler: @Sendable (TransportRequest) async throws -> TransportResponse
    private let state = Mutex<(answered: [TransportRequest], refused: [TransportRequest])>(([], []))

    /// A transport that answers with what `handler` makes.
    /// - Parameters:
    ///   - certificates: What servers present, by canonical host name.
    ///   - handler: Gets each request that passed and returns the response; it may wait and throw.
    public init(
        certificates: [String: TestCertificate] = [:],
        handler: @escaping @Sendable (TransportRequest) async throws -> TransportResponse
    ) {
        self.certificates = certificates
        self.handler = handler
    }

    /// A transport that gives every request the same answer.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - body: The body.
    public convenience init(status: Int, headerFields: HTTPFields = [:], body: [UInt8] = []) {
        self.init { request in
            TransportResponse(status: status, headerFields: headerFields, url: request.url, body: ResponseBody(bytes: body))
        }
    }

    /// Judges the host's certificate when it has one, records the request, and asks the handler.
    /// - Parameter request: The request.
    /// - Returns: What the handler answers.
    /// - Throws: `TransportError` with code `trustRefused` when the policy refuses the certificate, and what the handler throws.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        do {
            try judge(request)
        } catch {
            state.withLock { $0.refused.append(request) }
            throw error
        }
        state.withLock { $0.answered.append(request) }
        return try await handler(request)
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

    /// The requests whose server the trust policy refused, in order.
    public var refusedRequests: [TransportRequest] { state.withLock(\.refused) }
}
