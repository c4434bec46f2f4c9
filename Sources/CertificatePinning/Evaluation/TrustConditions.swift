/// What an evaluator wants of the handshakes that it judges.
///
/// See ``ServerTrustEvaluating/anchored(by:)`` and ``ServerTrustEvaluating/presenting(_:)`` for the usual way to state it.
public struct TrustConditions: Sendable {
    /// The roots that the path must end in, in place of the policy's; nil: the policy's.
    public var anchors: TrustAnchors?
    /// The certificate to show to servers that ask for one; nil: none.
    public var clientIdentity: ClientIdentity?
    /// Whether the server is asked for a stapled OCSP response (RFC 6066 §8).
    public var requestsStatus = false
    /// Whether a trusted self-signed certificate may be the server's although it says CA:TRUE, as `openssl req -x509` makes them.
    public var acceptsSelfSignedServer = false
    /// Why the evaluator cannot be used: every connection is refused, and making a session with it throws this.
    public var flaw: PinningError?

    /// Wants nothing.
    public init() {}

    /// What both want together; two different sets of roots or client certificates are a flaw, for neither must win silently.
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
    fileprivate static func conflict(_ things: String) -> PinningError {
        PinningError(.conflictingConditions, "the evaluators of one host name two different \(things): give it to one of them only")
    }
}
