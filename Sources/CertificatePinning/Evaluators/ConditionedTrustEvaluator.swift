internal import Foundation

/// An evaluator with further conditions.
struct ConditionedTrustEvaluator: ServerTrustEvaluating {
    let base: any ServerTrustEvaluating
    let conditions: TrustConditions

    init(_ base: any ServerTrustEvaluating, adding change: (inout TrustConditions) -> Void) {
        self.base = base
        var added = TrustConditions()
        change(&added)
        conditions = base.conditions.merging(added)
    }

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict { base.evaluate(trust, forHost: host) }
}

extension ServerTrustEvaluating {
    /// The evaluator, for hosts whose paths end in roots of their own.
    ///
    /// The roots replace those of the system for the host, and for no other. Where the signed configuration names roots for a protected
    /// host, those come first. A ``DisabledTrustEvaluator`` with roots validates paths again.
    ///
    /// - Parameters:
    ///   - anchors: The roots.
    ///   - besideSystem: Whether the roots of the system are trusted for the host as well.
    /// - Returns: The evaluator with these roots.
    /// - Throws: ``PinningError`` `expiredAnchors` when none of the roots holds today, `noAnchors` when the system's are wanted and missing.
    public func anchored(by anchors: TrustAnchors, besideSystem: Bool = false) throws -> some ServerTrustEvaluating {
        try anchors.requireValid(at: Date())
        let roots = besideSystem ? try anchors.besideSystem() : anchors
        return ConditionedTrustEvaluator(self) { $0.anchors = roots }
    }

    /// The evaluator, for hosts that ask for a client certificate (mutual TLS, RFC 8446 §4.3.2).
    ///
    /// The certificate is shown to servers of the host that passed every check, and to no other host.
    ///
    /// - Parameter identity: The certificate with its key.
    /// - Returns: The evaluator with this certificate.
    public func presenting(_ identity: ClientIdentity) -> some ServerTrustEvaluating {
        ConditionedTrustEvaluator(self) { $0.clientIdentity = identity }
    }
}
