/// Pins public keys: one of them must be on the validated path, as the server's, an intermediate's or the root's.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let pins: Set<Pin>

    /// Makes the evaluator.
    ///
    /// - Throws: ``PinningError`` `noPins` for the empty set, which must never mean that every key is accepted.
    public init(pins: Set<Pin>) throws {
        guard !pins.isEmpty else {
            throw PinningError(.noPins, "pinning needs a pin: name one, or use DefaultTrustEvaluator for path validation alone")
        }
        self.pins = pins
    }

    /// Trusts a path that has a pinned key; the refusal shows the pins presented beside those configured.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        if trust.chain.contains(where: { pins.contains($0.pin) }) { return .trusted }
        return .refused(
            TrustRefusal(
                .pinMismatch, trust: trust, expected: pins,
                detail: "no key of the validated path is pinned. If the server's key was changed on purpose, add the pin presented first"
                    + " to the host's pins; if not, somebody else answers in its place"))
    }
}
