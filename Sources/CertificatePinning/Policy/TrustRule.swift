internal import COpenSSL

/// The rule of one host: the roots of its path, the evaluators that judge it, and the client certificate to show.
public struct TrustRule: Sendable {
    /// The evaluators, in the order in which they are asked; all must trust the server.
    public let evaluators: [any ServerTrustEvaluating]
    /// The roots of the host; nil for those of the policy.
    public let anchors: TrustAnchors?
    /// The certificate to show when the host asks for one; nil for none.
    public private(set) var clientIdentity: ClientIdentity?
    /// Whether the host is asked for a stapled OCSP response.
    public let requestsStatus: Bool
    /// Whether OpenSSL validates the path, the host name and the purpose before the evaluators are asked.
    ///
    /// False only when the sole evaluator is a ``DisabledTrustEvaluator``.
    public let validatesPath: Bool
    /// Why the rule cannot be used: with a flaw, every server is refused.
    public let flaw: PinningError?
    /// Receives every server that the rule refuses or that a ``ReportOnlyTrustEvaluator`` would refuse.
    ///
    /// A rule with a ``flaw`` judges no server and reports none.
    ///
    /// The closure is called inside the TLS handshake: it must return at once, without I/O.
    public let observer: (@Sendable (TrustViolation) -> Void)?
    /// Whether a trusted self-signed certificate with CA:TRUE may be the server's.
    let acceptsSelfSignedServer: Bool

    /// Makes a rule.
    ///
    /// Without an evaluator it only requires path validation.
    /// - Parameters:
    ///   - evaluators: The evaluators, all of which must trust the server.
    ///   - anchors: The roots of the host; nil for those that an evaluator names, or else the policy's.
    ///   - observer: Receives the refusals, inside the TLS handshake.
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

    /// The rule for a host that a public suffix separates from the rule's pattern; nil when it would protect the host less than no rule.
    ///
    /// The host may have another owner, who must not see the client certificate.
    package var acrossPublicSuffix: TrustRule? {
        guard validatesPath else { return nil }
        var rule = self
        rule.clientIdentity = nil
        return rule
    }

    /// Prepares an `SSL_CTX` for connections to the rule's host only: hardens it and installs the host's client certificate.
    ///
    /// - Parameter sslContext: The `SSL_CTX`, before its first handshake and before the verify callback is set.
    /// - Returns: False when the rule has a flaw or OpenSSL refuses a setting; the context must not be used then.
    package func prepare(sslContext: OpaquePointer) -> Bool {
        guard flaw == nil, ChainValidator.harden(sslContext: sslContext) else { return false }
        if requestsStatus { COpenSSL_request_status(sslContext) }
        return clientIdentity?.install(in: sslContext) ?? true
    }
}
