/// What an evaluator requires of the handshakes that it judges.
///
/// Usually set through ``ServerTrustEvaluating/anchored(by:besideSystem:)`` and ``ServerTrustEvaluating/presenting(_:)``.
public struct TrustConditions: Sendable {
    /// The roots that the path must end in, instead of the policy's; nil for the policy's.
    public var anchors: TrustAnchors?
    /// The certificate to show to servers that ask for one; nil for none.
    public var clientIdentity: ClientIdentity?
    /// Whether the server is asked for a stapled OCSP response (RFC 6066, section 8).
    public var requestsStatus = false
    /// Whether the server's certificate may be a trusted self-signed one with CA:TRUE, as `openssl req -x509` makes them.
    public var acceptsSelfSignedServer = false
    /// Why the evaluator cannot be used: every connection is refused, and making a session with it throws this error.
    public var flaw: PinningError?

    /// Makes conditions that require nothing.
    public init() {}

    /// Combines two conditions; two different sets of roots or client certificates are a flaw, because neither may win silently.
    func merging(_ other: TrustConditions) -> TrustConditions {
        var merged = self
        merged.flaw = flaw ?? other.flaw
        merged.requestsStatus = requestsStatus || other.requestsStatus
        merged.acceptsSelfSignedServer = acceptsSelfSignedServer || other.acceptsSelfSignedServer
        merged.anchors = anchors ?? other.anchors
        merged.clientIdentity = clientIdentity ?? other.clientIdentity
        if let one = anchors, let two = other.anchors, one !== two {
            merged.flaw = merged.flaw ?? .conflict("sets of trust roots")
        }
        if let one = clientIdentity, let two = other.clientIdentity, one !== two {
            merged.flaw = merged.flaw ?? .conflict("client certificates")
        }
        return merged
    }
}

extension PinningError {
    fileprivate static func conflict(_ kind: String) -> PinningError {
        PinningError(.conflictingConditions, "the evaluators of one host have two different \(kind); set them on one evaluator only")
    }
}
