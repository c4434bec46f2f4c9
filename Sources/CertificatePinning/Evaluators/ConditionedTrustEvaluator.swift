internal import Foundation

/// An evaluator with additional conditions.
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
    /// Returns this evaluator for hosts whose paths end in the given roots.
    ///
    /// The roots replace the system's for this host only. If the signed configuration names roots for a protected host, those take
    /// precedence. A ``DisabledTrustEvaluator`` with roots does validate paths.
    ///
    /// - Parameters:
    ///   - anchors: The roots.
    ///   - besideSystem: Whether the system's roots are trusted for the host as well.
    /// - Returns: The evaluator with these roots.
    /// - Throws: ``PinningError`` with code `expiredAnchors` when all given roots have expired, or `anchorsNotYetValid` when no root is
    ///   valid and at least one will be later; with `besideSystem`, also `noAnchors` when the system has no roots, or
    ///   `malformedCertificate` when the system's roots cannot be read.
    public func anchored(by anchors: TrustAnchors, besideSystem: Bool = false) throws -> some ServerTrustEvaluating {
        try anchors.requireValid(at: Date())
        let roots = besideSystem ? try anchors.besideSystem() : anchors
        return ConditionedTrustEvaluator(self) { $0.anchors = roots }
    }

    /// Returns this evaluator for hosts that ask for a client certificate (mutual TLS, RFC 8446, section 4.3.2).
    ///
    /// The certificate is shown only to servers of this host that passed every check.
    ///
    /// - Parameter identity: The certificate with its key.
    /// - Returns: The evaluator with this certificate.
    public func presenting(_ identity: ClientIdentity) -> some ServerTrustEvaluating {
        ConditionedTrustEvaluator(self) { $0.clientIdentity = identity }
    }
}
