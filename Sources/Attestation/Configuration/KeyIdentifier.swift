/// The rules for the name of a key that signs tokens (`kid`, RFC 7515 section 4.1.4).
///
/// There are two, because a name is read for as long as its key is used. A name that is read (from a configuration, from a store, or
/// with a key that a backend is given) is ``isReadable(_:)``: every name that any version accepted stays so. A name that is given to a
/// new key is ``isAllowedForNewKey(_:)``, which is narrower: shells, URLs and JSON write such a name in one way only.
package enum KeyIdentifier {
    /// The rule for names that are read, as part of a sentence.
    package static let readableRule = "1 to 64 visible ASCII characters"
    /// The rule for names of new keys, as part of a sentence.
    package static let newKeyRule = "1 to 64 letters, digits, dots, dashes and underscores"

    /// Whether a key of this name may be read and used.
    package static func isReadable(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether a new key may get this name.
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
