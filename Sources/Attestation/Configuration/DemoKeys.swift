import Crypto

/// The demo account's keys, whose private halves are published under Sources/ApproovCLI/Resources.
///
/// They are good for loopback addresses only. Every program that starts with one of them checks that it uses no other address.
public enum DemoKeys {
    /// The thumbprints (RFC 7638) of the demo account's configuration keys.
    static let configKeyThumbprints: Set<String> = ["Rt9M1_Bm6ubev-bd-M7MpYmqzjph4-yUD692991tIl8"]
    /// The SHA-256 of the demo account's secrets, in hexadecimal.
    static let accountSecretDigests: Set<String> = ["575b4489cf3af801481d9428db309a3808fe24f0bc555208ba9946af47e00b14"]
    /// The pins of the demo authority's TLS keys: the SHA-256 of each SubjectPublicKeyInfo.
    static let tlsKeyPins: Set<String> = [
        "sha256/TlnJHP9Ha0gHrtbN2uZ9QH+H+gPHNKrwOBuqS0dmneE=",
        "sha256/tXzIFdduUkYEQv6rn/tCBqhn7h7crbh4f7leub6yHqo=",
        "sha256/Wpn4V0NYt6AlXCR1mutZVRtMdllCr2UGUUoodU37Buk=",
    ]

    /// Whether a JWK thumbprint is that of one of the demo account's configuration keys.
    public static func isDemo(jwkThumbprint: String) -> Bool {
        configKeyThumbprints.contains(jwkThumbprint)
    }

    /// Whether a SHA-256 (lower-case hexadecimal) is that of the demo account's secret.
    public static func isDemo(accountSecretSHA256: String) -> Bool {
        accountSecretDigests.contains(accountSecretSHA256)
    }

    /// Whether an account secret is the demo account's.
    public static func isDemo(accountSecret: some Sequence<UInt8>) -> Bool {
        isDemo(accountSecretSHA256: SHA256.hash(data: Array(accountSecret)).map { hex($0) }.joined())
    }

    /// Whether a pin (`sha256/…`) is that of one of the demo authority's TLS keys.
    public static func isDemo(tlsKeyPin: String) -> Bool {
        tlsKeyPins.contains(tlsKeyPin)
    }

    private static func hex(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
}
