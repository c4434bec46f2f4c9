/// Finds what a PEM text holds by its labels (RFC 7468, section 2), without decoding it.
package enum PEMText {
    private static let begin = Array("-----BEGIN ".utf8)

    /// Whether the bytes hold a PEM block; if not, they may be DER.
    package static func isPEM(_ bytes: [UInt8]) -> Bool { bytes.firstRange(of: begin) != nil }

    /// Whether the text holds a certificate that is not cut off.
    package static func hasCertificate(_ text: String) -> Bool {
        text.contains("-----BEGIN CERTIFICATE-----") && text.contains("-----END CERTIFICATE-----")
    }

    /// Whether the text holds a private key of any form, encrypted or not.
    package static func hasPrivateKey(_ text: String) -> Bool { text.contains("PRIVATE KEY") }
}
