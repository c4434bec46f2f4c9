/// Judges servers.
///
/// Write one to add a check of your own to path validation; it is called inside the TLS handshake.
///
/// An evaluator is called after OpenSSL has validated the path, the host name and the purpose. It must answer at once, without I/O:
/// what it has to look up it asks for with ``TrustVerdict/needs(_:)``. A test double is one line:
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
    ///   - trust: The validated path, and what is known around it.
    ///   - host: The canonical name of the host that was asked for.
    /// - Returns: The verdict. One that is not `trusted` ends the handshake.
    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict

    /// What the evaluator wants of the handshake around it: roots of its own, a client certificate, a stapled OCSP response.
    ///
    /// Nothing unless said otherwise. Read once, when the rule of a host is made.
    var conditions: TrustConditions { get }
}

extension ServerTrustEvaluating {
    /// Wants nothing.
    public var conditions: TrustConditions { TrustConditions() }
}
