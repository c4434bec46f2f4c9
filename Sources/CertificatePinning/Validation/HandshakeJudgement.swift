/// The judgement of a server during a TLS handshake.
public enum HandshakeJudgement: Sendable {
    /// The server is trusted.
    case trusted(ServerTrust)
    /// The server is refused: the handshake must end.
    case refused(TrustRefusal)
    /// The path is valid, but the evaluators wait for the stapled response: nothing may be sent before they trust the server.
    case awaitsStatus(ServerTrust)

    init(_ result: Result<ServerTrust, TrustRefusal>) {
        switch result {
        case .success(let trust): self = .trusted(trust)
        case .failure(let refusal): self = .refused(refusal)
        }
    }

    /// The refusal, if the server is refused.
    public var refusal: TrustRefusal? {
        if case .refused(let refusal) = self { refusal } else { nil }
    }
}
