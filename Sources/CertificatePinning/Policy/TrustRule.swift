internal import COpenSSL

/// What holds for one host: the roots that its path may end in, the evaluators that judge it, and the certificate it is shown.
public struct TrustRule: Sendable {
    /// The evaluators, all of which must trust, asked in this order.
    public let evaluators: [any ServerTrustEvaluating]
    /// The roots of the host; nil: those of the policy.
    public let anchors: TrustAnchors?
    /// The certificate to show to the host when it asks for one; nil: none.
    public let clientIdentity: ClientIdentity?
    /// Whether the host is asked for a stapled OCSP response.
    public let requestsStatus: Bool
    /// Whether the path, the host name and the purpose are validated before the evaluators are asked.
    ///
    /// False only when the evaluators are exactly one ``DisabledTrustEvaluator``.
    public let validatesPath: Bool
    /// Why the rule cannot be used; every server is refused then.
    public let flaw: PinningError?
    /// Is told of every server that the rule refuses, and of those that a ``ReportOnlyTrustEvaluator`` would refuse.
    ///
    /// A rule with a ``flaw`` judges nobody and tells nothing.
    ///
    /// Called inside the TLS handshake: it must return at once, without I/O.
    public let observer: (@Sendable (TrustViolation) -> Void)?
    /// Whether a trusted self-signed certificate may be the server's although it says CA:TRUE.
    let acceptsSelfSignedServer: Bool

    /// Makes a rule.
    ///
    /// Without an evaluator it is path validation alone.
    /// - Parameters:
    ///   - evaluators: The evaluators, all of which must trust.
    ///   - anchors: The roots of the host; nil: those that an evaluator names, or else the policy's.
    ///   - observer: Is told of refusals.
    public init(
        evaluators: [any ServerTrustEvaluating], anchors: TrustAnchors? = nil, observer: (@Sendable (TrustViolation) -> Void)? = nil
    ) {
        let conditions = evaluators.reduce(TrustConditions()) { $0.merging($1.conditions) }
        self.evaluators = evaluators
        self.anchors = anchors ?? conditions.anchors
        clientIdentity = conditions.clientIdentity
        requestsStatus = conditions.requestsStatus
        flaw = conditions.flaw
        self.observer = observer
        acceptsSelfSignedServer = conditions.acceptsSelfSignedServer && anchors == nil
        validatesPath = !(evaluators.count == 1 && evaluators[0] is DisabledTrustEvaluator)
    }

    /// Makes an `SSL_CTX` one for connections to the rule's host and to no other: hardened, and with the host's client certificate.
    ///
    /// - Parameter sslContext: The `SSL_CTX`, before its first handshake and before the verify callback is set.
    /// - Returns: False when OpenSSL refuses: the context must not be used.
    package func prepare(sslContext: OpaquePointer) -> Bool {
        guard flaw == nil, ChainValidator.harden(sslContext: sslContext) else { return false }
        if requestsStatus { COpenSSL_request_status(sslContext) }
        return clientIdentity?.install(in: sslContext) ?? true
    }
}
