/// An evaluator's decision about a server.
public enum TrustVerdict: Sendable {
    /// This evaluator trusts the server.
    case trusted
    /// The server is refused: the handshake ends before any byte of the request is sent.
    case refused(TrustRefusal)
    /// The evaluator needs data: the handshake ends, the look-ups run, and the connection is tried again with their results.
    ///
    /// A second verdict may need more; if a third one still does, the server is refused. An empty list refuses it at once. If the client
    /// has recent results, it asks the evaluator again with them before the handshake ends.
    case needs([TrustLookup])
    /// The rule is not enforced: the handshake continues, and the ``TrustRule/observer`` receives the refusal.
    case reported(TrustRefusal)

    /// The verdict, or a refusal in place of a need without look-ups, which no later verdict could meet.
    func checked(for trust: ServerTrust) -> TrustVerdict {
        guard case .needs(let lookups) = self, lookups.isEmpty else { return self }
        return .refused(
            TrustRefusal(
                .evaluatorFailed, trust: trust,
                detail: "an evaluator needs look-ups and names none, so it cannot judge the server; it must name one, or decide"))
    }
}
