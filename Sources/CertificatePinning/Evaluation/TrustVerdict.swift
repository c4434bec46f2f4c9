/// What an evaluator says about a server.
public enum TrustVerdict: Sendable {
    /// The server is trusted, as far as this evaluator is concerned.
    case trusted
    /// The server is refused: the handshake ends before a byte of the request is sent.
    case refused(TrustRefusal)
    /// The evaluator must know more: the handshake ends, the look-ups run, and the connection is tried once more.
    case needs([TrustLookup])
    /// The server would be refused, but the rule is only reported: the handshake goes on, and the ``TrustRule/observer`` is told.
    case reported(TrustRefusal)
}
