import Crypto

extension KeyConfiguration {
    /// A key encapsulation mechanism of HPKE (RFC 9180, section 7.1).
    public enum KEM: UInt16, Sendable, Hashable, CaseIterable {
        /// DHKEM(X25519, HKDF-SHA256), which every deployed gateway has.
        case x25519 = 0x0020
        /// DHKEM(P-256, HKDF-SHA256).
        case p256 = 0x0010
        /// X-Wing, ML-KEM-768 with X25519 (draft-connolly-cfrg-xwing-kem-06): for traffic that must stay secret from future quantum
        /// computers.
        ///
        /// Its encapsulated key takes 1,120 bytes of a request instead of 32.
        case xWing = 0x647a

        /// The length of a public key, in bytes.
        var publicKeySize: Int {
            switch self {
            case .x25519: 32
            case .p256: 65
            case .xWing: 1216
            }
        }

        /// The length of an encapsulated key, `enc`, in bytes.
        var encapsulatedKeySize: Int {
            switch self {
            case .x25519: 32
            case .p256: 65
            case .xWing: 1120
            }
        }

        var hpke: HPKE.KEM {
            switch self {
            case .x25519: .Curve25519_HKDF_SHA256
            case .p256: .P256_HKDF_SHA256
            case .xWing: .XWingMLKEM768X25519
            }
        }
    }
}
