import Crypto

/// The demo account's keys, whose private halves lie in the open under Sources/ApproovCLI/Resources.
///
/// They are good for loopback addresses only; whoever starts with one of them checks where it is used.
public enum DemoKeys {
    /// Thumbprints (RFC 7638) of the demo account's configuration keys.
    static let configKeyThumbprints: Set<String> = ["Rt9M1_Bm6ubev-bd-M7MpYmqzjph4-yUD692991tIl8"]
    /// SHA-256 of the demo account's secrets, hex.
    static let accountSecretDigests: Set<String> = ["575b4489cf3af801481d9428db309a3808fe24f0bc555208ba9946af47e00b14"]
    /// SHA-256 of the SubjectPublicKeyInfo of the demo authority's TLS keys, as pins.
    static let tlsKeyPins: Set<String> = [
        "sha256/TlnJHP9Ha0gHrtbN2uZ9QH+H+gPHNKrwOBuqS0dmneE=",
        "sha256/tXzIFdduUkYEQv6rn/tCBqhn7h7crbh4f7leub6yHqo=",
        "sha256/Wpn4V0NYt6AlXCR1mutZVRtMdllCr2UGUUoodU37Buk=",
    ]

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
