public import Foundation

/// A server that a rule refused, or would have refused if the rule were enforced.
///
/// It is told to the ``TrustRule/observer`` of the rule, for reports.
public struct TrustViolation: Sendable {
    /// What is wrong with the server.
    public let refusal: TrustRefusal
    /// The validated path; where there is none, the certificates that the server sent.
    ///
    /// ``TrustRefusal/maximumPresented`` at most.
    public let certificates: [Certificate]
    /// The host that was asked for.
    public let host: CanonicalHost
    /// The port that was asked for; nil when a chain was judged without a connection.
    public let port: Int?
    /// The time for which the path was validated.
    public let time: Date
    /// Whether the path, the host name and the purpose held.
    public let isPathValidated: Bool
    /// Whether the server was refused; false where the refusal was only reported.
    public let isEnforced: Bool
}
