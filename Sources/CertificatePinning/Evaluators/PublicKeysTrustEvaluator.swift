import ApproovBase
public import Foundation
public import Logging

/// Pins public keys: one of them must be on the validated path, as the server's, an intermediate's or the root's.
public struct PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let pins: Set<Pin>
    private let validUntil: Date?
    private let logger: Logger
    private let announced = AnnouncedHosts()

    /// Makes the evaluator.
    ///
    /// - Parameters:
    ///   - pins: Two at least, one of them of a key that is not in use: it takes over when the server's key is lost or changed.
    ///   - validUntil: When the pins end. From then on path validation alone decides, which is said as an error in the log, and what the
    ///     pins would refuse is told to the ``TrustRule/observer`` as not enforced; nil: never.
    ///     An app that is not updated goes on working, and whoever turns its clock forward is rid of the pins.
    ///   - logger: Where the end of the pins is reported.
    /// - Throws: ``PinningError`` `noPins` for the empty set, which must never mean that every key is accepted; `backupPinMissing` for
    ///   one pin, see ``init(withoutBackup:validUntil:logger:)``.
    public init(pins: Set<Pin>, validUntil: Date? = nil, logger: Logger = Logger(label: "approov.trust")) throws {
        guard pins.count != 1 else {
            throw PinningError(
                .backupPinMissing,
                "one pin locks the app out when that key is lost or changed: add the pin of a backup key, or say that you want none with"
                    + " PublicKeysTrustEvaluator(withoutBackup:)")
        }
        try self.init(withoutBackup: pins, validUntil: validUntil, logger: logger)
    }

    /// DANGER: makes the evaluator with any number of pins, also one.
    ///
    /// With a single pin, nobody gets through any more when that key is lost or changed.
    ///
    /// - Parameters:
    ///   - pins: One at least.
    ///   - validUntil: As with ``init(pins:validUntil:logger:)``.
    ///   - logger: Where the end of the pins is reported.
    /// - Throws: ``PinningError`` `noPins` for the empty set.
    public init(withoutBackup pins: Set<Pin>, validUntil: Date? = nil, logger: Logger = Logger(label: "approov.trust")) throws {
        guard !pins.isEmpty else {
            throw PinningError(.noPins, "pinning needs a pin: name one, or use DefaultTrustEvaluator for path validation alone")
        }
        self.pins = pins
        self.validUntil = validUntil
        self.logger = logger
    }

    /// Trusts a path that has a pinned key; the refusal shows the pins presented beside those configured.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        if trust.chain.contains(where: { pins.contains($0.pin) }) { return .trusted }
        let refusal = TrustRefusal(
            .pinMismatch, trust: trust, expected: pins,
            detail: "no key of the validated path is pinned. If the server's key was changed on purpose, add the pin presented first"
                + " to the host's pins; if not, somebody else answers in its place")
        if let validUntil, trust.time >= validUntil {
            // Only of a server that the pins would refuse: as long as they match, nothing is lost.
            sayExpired(host, since: validUntil)
            return .reported(refusal)
        }
        return .refused(refusal)
    }

    private func sayExpired(_ host: String, since date: Date) {
        guard announced.isNew(host) else { return }
        logger.error(
            "PINS HAVE EXPIRED for this host, and its server matches none: path validation alone decides; update the pins",
            metadata: ["host": "\(LoggableText.quoted(host, limit: 253))", "expired": "\(date)"])
    }
}
