internal import Foundation

/// The status of one certificate, from a verified OCSP response or CRL.
struct RevocationStatus: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case good
        /// Revoked, with the time of the revocation if it is known.
        case revoked(Date?)
    }

    let value: Value
    /// When the status expires.
    let validUntil: Date
}
