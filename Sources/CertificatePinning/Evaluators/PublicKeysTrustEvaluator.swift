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
    ///   - pins: At least two. One of them must belong to a backup key that is not in use; it takes over when the server's key is lost or
    ///     changed.
    ///   - validUntil: When the pins expire; nil for never. After that, path validation alone decides, so that an app that is not updated
    ///     keeps working. A user who turns the clock forward disables the pins, too. A server that the pins would refuse is logged as an
    ///     error, and the ``TrustRule/observer`` receives the refusal as not enforced.
    ///   - logger: The logger that receives this error.
    /// - Throws: ``PinningError`` with code `noPins` for an empty set, which must never mean that every key is accepted, or
    ///   `backupPinMissing` for a single pin; see ``init(withoutBackup:validUntil:logger:)``.
    public init(pins: Set<Pin>, validUntil: Date? = nil, logger: Logger = Logger(label: "approov.trust")) throws {
        guard pins.count != 1 else {
            throw PinningError(
                .backupPinMissing,
                "with a single pin, a lost or changed key locks the app out; add the pin of a backup key, or choose to have none with"
                    + " PublicKeysTrustEvaluator(withoutBackup:)")
        }
        try self.init(withoutBackup: pins, validUntil: validUntil, logger: logger)
    }

    /// DANGER: makes the evaluator with any number of pins, even a single one.
    ///
    /// With a single pin, no client can connect after that key is lost or changed.
    ///
    /// - Parameters:
    ///   - pins: At least one.
    ///   - validUntil: As in ``init(pins:validUntil:logger:)``.
    ///   - logger: As in ``init(pins:validUntil:logger:)``.
    /// - Throws: ``PinningError`` with code `noPins` for an empty set.
    public init(withoutBackup pins: Set<Pin>, validUntil: Date? = nil, logger: Logger = Logger(label: "approov.trust")) throws {
        guard !pins.isEmpty else {
            throw PinningError(.noPins, "pinning needs a pin; give one, or use DefaultTrustEvaluator for path validation alone")
        }
        self.pins = pins
        self.validUntil = validUntil
        self.logger = logger
    }

    /// Trusts a path with a pinned key; a refusal lists the pins presented and the pins expected.
    ///
    /// - Parameters:
    ///   - trust: The path to judge.
    ///   - host: The canonical name of the requested host.
    /// - Returns: The verdict.
    public func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        if trust.chain.contains(where: { pins.contains($0.pin) }) { return .trusted }
        let refusal = TrustRefusal(
            .pinMismatch, trust: trust, expected: pins,
            detail: "no key of the validated path is pinned; if you changed the server's key, add the first of the presented pins to the"
                + " host's pins; if not, another server answered in its place")
        if let validUntil, trust.time >= validUntil {
            // Logs only for a server that the pins would refuse: while the pins match, their expiry changes nothing.
            sayExpired(host, since: validUntil)
            return .reported(refusal)
        }
        return .refused(refusal)
    }

    private func sayExpired(_ host: String, since date: Date) {
        guard announced.isNew(host) else { return }
        logger.error(
            "PINS HAVE EXPIRED for this host and its server matches none, so path validation alone decides; update the pins",
            metadata: ["host": "\(LoggableText.quoted(host, limit: LoggableText.longestHost))", "expired": "\(date)"])
    }
}
