/// The text form of a pin: "sha256/" and the base64 of a SHA-256, or the base64 alone.
///
/// CertificatePinning gives pins their meaning. Attestation only checks their spelling, and does not depend on it.
package enum PinText {
    /// The prefix that names the algorithm.
    package static let prefix = "sha256/"

    /// The SHA-256 of no bytes, which no key has.
    ///
    /// `openssl dgst -sha256` prints it when the command before it in the pipe failed. As a backup pin it would be useless.
    package static let hashOfNothing: [UInt8] = [
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b,
        0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
    ]

    /// The 32 bytes of the hash; nil if the text is not a pin in canonical base64.
    package static func digest(_ text: String) -> [UInt8]? {
        guard let bytes = Base64.decode(base64(text)), bytes.count == 32 else { return nil }
        return bytes
    }

    /// A pin without its prefix.
    package static func base64(_ text: String) -> String { text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text }

    /// The pin of a hash, with its prefix.
    package static func text(_ digest: some Collection<UInt8>) -> String { prefix + Base64.encode(digest) }
}
