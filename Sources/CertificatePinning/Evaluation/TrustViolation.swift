public import Foundation

/// A server that a rule refused, or would have refused if the rule were enforced.
///
/// The rule's ``TrustRule/observer`` receives it, for reports.
public struct TrustViolation: Sendable {
    /// The refusal, with what is wrong with the server.
    public let refusal: TrustRefusal
    /// The validated path, or the certificates that the server sent if no path was validated.
    ///
    /// At most ``TrustRefusal/maximumPresented``.
    public let certificates: [Certificate]
    /// The requested host.
    public let host: CanonicalHost
    /// The requested port; nil when a certificate path was judged without a connection.
    public let port: Int?
    /// The time for which the path was validated.
    public let time: Date
    /// Whether validation of the path, the host name and the purpose succeeded.
    public let isPathValidated: Bool
    /// Whether the server was refused; false if the refusal was only reported.
    public let isEnforced: Bool
}
