/// The rules for the name of a token-signing key (`kid`, RFC 7515, section 4.1.4).
///
/// The rules differ for existing and new keys, because a name must stay valid for as long as its key is used. Names that are read from a
/// configuration, a store or a backend's settings must satisfy ``isReadable(_:)``, which accepts every name that any version accepted.
/// The name of a new key must satisfy ``isAllowedForNewKey(_:)``, which is narrower: it allows only names that shells, URLs and JSON
/// need not escape.
package enum KeyIdentifier {
    /// The rule for existing names, worded to fit into a sentence.
    package static let readableRule = "1 to 64 visible ASCII characters"
    /// The rule for names of new keys, worded to fit into a sentence.
    package static let newKeyRule = "1 to 64 letters, digits, dots, dashes and underscores"

    /// Whether an existing key may have this name.
    package static func isReadable(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether a new key may have this name.
    package static func isAllowedForNewKey(_ text: String) -> Bool {
        isReadable(text) && text.utf8.allSatisfy(isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
