/// Makes an evaluator from a closure.
///
/// ```swift
/// let evaluators = [
///     "intranet.example.com": evaluator { trust, host in
///         trust.chain.count == 2 ? .trusted : .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: "\(host) has another root"))
///     }
/// ]
/// ```
///
/// The closure is called inside the TLS handshake, after path validation. It must answer at once, without I/O.
/// - Parameter body: Judges the validated path of a server; see ``ServerTrustEvaluating/evaluate(_:forHost:)``.
/// - Returns: The evaluator.
public func evaluator(_ body: @escaping @Sendable (_ trust: ServerTrust, _ host: String) -> TrustVerdict) -> ClosureTrustEvaluator {
    ClosureTrustEvaluator(body)
}

/// An evaluator that ``evaluator(_:)`` makes from a closure.
public struct ClosureTrustEvaluator: ServerTrustEvaluating {
    private let body: @Sendable (ServerTrust, String) -> TrustVerdict

    init(_ body: @escaping @Sendable (ServerTrust, String) -> TrustVerdict) { self.body = body }

    /// Returns the closure's verdict.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict { body(trust, host) }
}
