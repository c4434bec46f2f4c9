import Crypto

/// The demo account's keys, whose private halves lie in the open under Sources/ApproovCLI/Resources.
///
/// They are good for loopback addresses only; whoever starts with one of them checks where it is used.
public enum DemoKeys {
    /// Thumbprints (RFC 7638) of the demo account's configuration keys.
    static let configKeyThumbprints: Set<String> = []
    /// SHA-256 of the demo account's secrets, hex.
    static let accountSecretDigests: Set<String> = []
    /// SHA-256 of the SubjectPublicKeyInfo of the demo authority's TLS keys, as pins.
    static let tlsKeyPins: Set<String> = []

    /// Whether the key of that thumbprint is one of the demo account's configuration keys.
    public static func isDemo(jwkThumbprint: String) -> Bool {
        configKeyThumbprints.contains(jwkThumbprint)
    }

    /// Whether the account secret of that SHA-256 (lower-case hex) is the demo account's.
    public static func isDemo(accountSecretSHA256: String) -> Bool {
        accountSecretDigests.contains(accountSecretSHA256)
    }

    /// Whether the account secret is the demo account's.
    public static func isDemo(accountSecret: some Sequence<UInt8>) -> Bool {
        isDemo(accountSecretSHA256: SHA256.hash(data: Array(accountSecret)).map { hex($0) }.joined())
    }

    /// Whether the TLS key of that pin (`sha256/…`) is the demo authority's.
    public static func isDemo(tlsKeyPin: String) -> Bool {
        tlsKeyPins.contains(tlsKeyPin)
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
