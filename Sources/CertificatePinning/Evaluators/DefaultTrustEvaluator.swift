/// Path validation alone: it has been done before any evaluator is asked, and this one adds nothing.
public struct DefaultTrustEvaluator: ServerTrustEvaluating {
    /// Makes the evaluator.
    public init() {}

    /// Trusts what path validation trusts.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict { .trusted }
}
