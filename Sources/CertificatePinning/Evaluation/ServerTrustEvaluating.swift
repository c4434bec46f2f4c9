/// Decides whether a server is trusted.
///
/// Implement it to add your own check to path validation.
///
/// OpenSSL has validated the path, the host name and the purpose before the evaluator is called. The call happens inside the TLS
/// handshake, so the evaluator must answer at once, without I/O. If it needs data from the network, it returns
/// ``TrustVerdict/needs(_:)``. A test double is one line:
///
///     struct Refusing: ServerTrustEvaluating {
///         func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
///             .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: "not today"))
///         }
///     }
public protocol ServerTrustEvaluating: Sendable {
    /// Judges the validated path of a server.
    ///
    /// - Parameters:
    ///   - trust: The validated path, with the time, the stapled response and the look-up results.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict. `refused` and `needs` end the handshake.
    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict

    /// What the evaluator requires of the handshake: its own roots, a client certificate, a stapled OCSP response.
    ///
    /// The default requires nothing. The property is read once, when the host's rule is made.
    var conditions: TrustConditions { get }
}

extension ServerTrustEvaluating {
    /// Requires nothing.
    public var conditions: TrustConditions { TrustConditions() }
}
