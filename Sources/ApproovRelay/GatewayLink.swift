internal import ApproovBase
internal import CertificatePinning
internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes

/// Forwards messages to the one gateway.
struct GatewayLink: Sendable {
    private static let problemBytes = 64 * 1024

    /// The gateway's URL.
    let url: TransportURL
    private let policy: TrustPolicy
    private let limits: RelayConfiguration.Limits

    /// The gateway's answer, as far as it goes back to the client.
    enum Answer: Sendable {
        /// An encapsulated response, whose body is still on its way.
        case encapsulated(TransportResponse, EncapsulatedMessage)
        /// An error outside the encapsulation, with its problem details (RFC 9457) if it has any.
        case refusal(status: Int, problem: [UInt8])
    }

    /// Why a message got no answer from the gateway.
    enum Failure: Error {
        /// The gateway cannot be reached, fails authentication, or answers as no gateway does.
        case unusable(TransportError?)
        /// The gateway takes too long.
        case slow
        /// The client's message is too large.
        case requestTooLarge
        /// The client's message ended early.
        case requestBroken
        /// The client sent nothing more of its message for too long.
        case requestStalled
        /// Too many requests are under way.
        case busy
    }

    /// Reads the gateway's URL, pins and roots.
    ///
    /// - Throws: ``RelayError`` with code `malformedGateway` when the URL or the roots do not parse, `insecureGateway` for plain http to
    ///   another machine, or for pins or roots without TLS, `malformedPin` when a pin does not parse.
    init(_ configuration: RelayConfiguration) throws {
        limits = configuration.limits
        do {
            let url = try TransportURL(configuration.gateway)
            // A slash at the end names the root, where other operators may serve their gateways.
            let hasPath = url.target != "/" || configuration.gateway.hasSuffix("/")
            self.url = hasPath ? url : try TransportURL(url.origin + "/gateway")
        } catch {
            throw RelayError(
                .malformedGateway, "the gateway's URL is malformed; write for example https://gateway.example/gateway", cause: error)
        }
        guard url.isSecure || url.host.isLoopback else {
            throw RelayError(
                .insecureGateway, "plain http is only allowed for a gateway on this machine; give the gateway's https URL")
        }
        policy = try Self.policy(configuration, host: url.host, isSecure: url.isSecure)
    }

    private static func policy(_ configuration: RelayConfiguration, host: CanonicalHost, isSecure: Bool) throws -> TrustPolicy {
        guard isSecure else {
            guard configuration.gatewayPins.isEmpty, configuration.gatewayTrustRootsPEM == nil else {
                throw RelayError(.insecureGateway, "pins and roots only apply to a gateway with TLS; give its https URL")
            }
            return TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        }
        let evaluator: any ServerTrustEvaluating
        do {
            // One pin without a backup is enough: unlike an app's, a relay's configuration can be changed when that key is lost.
            evaluator =
                configuration.gatewayPins.isEmpty
                ? DefaultTrustEvaluator() : try PublicKeysTrustEvaluator(withoutBackup: Pin.list(configuration.gatewayPins))
        } catch {
            throw RelayError(
                .malformedPin, "the gateway's pins are not different pins of the form sha256/BASE64; to print pins: approov pin -get HOST",
                cause: error)
        }
        do {
            let anchors = try configuration.gatewayTrustRootsPEM.map { try TrustAnchors(pem: $0, validAt: Date()) } ?? .system()
            return TrustPolicy(
                rules: try HostMap([(HostPattern(host), TrustRule(evaluators: [evaluator]))]), defaultAnchors: anchors)
        } catch {
            throw RelayError(
                .malformedGateway, "the roots to trust for the gateway cannot be used; give PEM roots that are valid now", cause: error)
        }
    }

    /// Forwards a message once: neither this function nor the transport below sends any part of it a second time (RFC 9458, section 6.5).
    ///
    /// - Parameters:
    ///   - message: How it is encapsulated.
    ///   - length: Its length in bytes, if the client declared it.
    ///   - body: Its content.
    ///   - deadline: The time by which its answer must have ended.
    ///   - transport: Carries the message.
    /// - Returns: The gateway's answer.
    /// - Throws: `Failure` when the gateway gives no answer that may go back to the client.
    func forward(
        _ message: EncapsulatedMessage, length: Int?, body: BorrowedRequestBody, until deadline: ContinuousClock.Instant,
        over transport: any HTTPTransport
    ) async throws(Failure) -> Answer {
        var options = TransferOptions()
        options.connectTimeout = limits.connectTimeout
        options.idleTimeout = limits.gatewayIdleTimeout
        options.totalTimeout = max(.milliseconds(1), ContinuousClock.now.duration(to: deadline))
        options.maximumHeaderBytes = limits.headerBytes
        options.maximumBodyBytes = message.bytes(in: limits)
        options.decompresses = false
        options.isIdempotent = false
        let content = body.takeWhole().map { RequestBody.bytes($0) } ?? .stream(length: length, RequestBodyStream(body))
        let request = TransportRequest(
            url: url, method: .post, headerFields: message.requestFields, body: content, policy: policy, options: options)
        do {
            return try await answer(to: message, from: transport.send(request))
        } catch {
            throw Self.failure(error)
        }
    }

    private func answer(to message: EncapsulatedMessage, from response: TransportResponse) async throws -> Answer {
        let type = response.headerFields.mediaType
        switch response.status {
        case 200 where type == message.responseType:
            let length = response.headerFields[.contentLength].flatMap { Int($0) } ?? 0
            guard length <= message.bytes(in: limits) else {
                throw Failure.unusable(TransportError(.bodyTooLarge, "the gateway's response is larger than the limit for messages"))
            }
            return .encapsulated(response, message)
        case 400...599:
            let isProblem = type == ProblemDetails.mediaType
            let problem = isProblem ? (try? await response.body.collect(upTo: Self.problemBytes)) : nil
            return .refusal(status: response.status, problem: problem ?? [])
        default:
            // Redirects are refused too: the one gateway moves only when the operator says so.
            throw Failure.unusable(nil)
        }
    }

    private static func failure(_ error: any Error) -> Failure {
        guard let error = error as? TransportError else { return error as? Failure ?? .requestBroken }
        switch error.code {
        case .connectTimeout, .idleTimeout, .totalTimeout: return .slow
        case .tooManyRequests: return .busy
        case .requestBodyFailed: return error.cause.map(ofRequest) ?? .requestBroken
        default: return .unusable(error)
        }
    }

    /// The failure for a request whose content could not be read.
    static func ofRequest(_ error: any Error) -> Failure {
        switch error {
        case is BorrowedRequestBody.TooLong: .requestTooLarge
        case is BorrowedRequestBody.Stalled: .requestStalled
        default: .requestBroken
        }
    }
}
