import ApproovBase

/// Finds secrets by their form in a text: JSON Web Tokens and private keys.
///
/// The positions must not decrease. Then each byte is read a few times at most, however many tokens and keys seem to begin in the text.
struct TokenShapes {
    private static let keyBeginning = Array("-----BEGIN ".utf8)
    private static let keyName = Array("PRIVATE KEY".utf8)
    private static let dashes = Array("-----".utf8)
    private static let keyEnd = Array("-----END ".utf8)
    /// The longest text between `BEGIN` and the hyphens.
    private static let maximumLabelLength = 64

    private let text: ArraySlice<UInt8>
    /// Where the last run of a token's characters ends: a token that begins in it ends there, too.
    private var endOfRun: Int
    /// Where the last key ends: one that begins in it ends there, too.
    private var endOfKey: Int

    init(in text: ArraySlice<UInt8>) {
        self.text = text
        (endOfRun, endOfKey) = (text.startIndex, text.startIndex)
    }

    /// Where a secret ends that begins at a position of the text; nil when none does.
    mutating func end(at position: Int) -> Int? {
        if position >= endOfRun, let run = Self.webToken(in: text, at: position) {
            endOfRun = run.end
            return run.isToken ? run.end : nil
        }
        guard position >= endOfKey, let end = Self.endOfPrivateKey(in: text, at: position) else { return nil }
        endOfKey = end
        return end
    }

    /// Where the characters of a JSON Web Token (RFC 7519) end that begin with `eyJ`, and whether they are one.
    ///
    /// It has two dots or more, and its header is an object of JSON. The name of a member may have dots, and `eyJ` in it, too.
    private static func webToken(in bytes: ArraySlice<UInt8>, at position: Int) -> (end: Int, isToken: Bool)? {
        guard bytes[position] == UInt8(ascii: "e"), bytes[position...].starts(with: "eyJ".utf8) else { return nil }
        var dots = 0
        var end = position
        var header: ArraySlice<UInt8>?
        while end < bytes.endIndex {
            guard isTokenByte(bytes[end]) || bytes[end] == UInt8(ascii: ".") else { break }
            if bytes[end] == UInt8(ascii: ".") {
                dots += 1
                header = header ?? bytes[position..<end]
            }
            end += 1
        }
        return (end, dots >= 2 && header.map(isObject) ?? false)
    }

    /// Whether the text that base64url stands for ends as an object of JSON does.
    private static func isObject(_ text: ArraySlice<UInt8>) -> Bool {
        Base64URL.decode(String(decoding: text, as: UTF8.self))?.last { !Texts.isBlank($0) } == UInt8(ascii: "}")
    }

    /// Whether a byte is of the alphabet of base64url.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Where a private key in PEM (RFC 7468) ends: after its last line, or before a quotation mark, `<` or the end of the text.
    ///
    /// - Returns: The end; nil when no key begins at the position.
    static func endOfPrivateKey(in bytes: ArraySlice<UInt8>, at position: Int) -> Int? {
        guard bytes[position] == UInt8(ascii: "-"), bytes[position...].starts(with: keyBeginning) else { return nil }
        guard let begin = endOfLabel(in: bytes, from: position + keyBeginning.count, mustNameKey: true) else { return nil }
        var index = begin
        while index < bytes.endIndex {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "<"):
                // The backslash belongs to the quotation mark.
                while bytes[index - 1] == UInt8(ascii: "\\") { index -= 1 }
                return index
            case UInt8(ascii: "-") where bytes[index...].starts(with: keyEnd):
                if let end = endOfLabel(in: bytes, from: index + keyEnd.count, mustNameKey: false) { return end }
                index += keyEnd.count
            default: index += 1
            }
        }
        return index
    }

    /// Where the hyphens after a label end; nil when there is none of capital letters, digits and spaces.
    private static func endOfLabel(in bytes: ArraySlice<UInt8>, from begin: Int, mustNameKey: Bool) -> Int? {
        let label = bytes[begin...].prefix(maximumLabelLength).prefix { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || byte == UInt8(ascii: " ")
        }
        guard bytes[label.endIndex...].starts(with: dashes), !mustNameKey || label.contains(keyName) else { return nil }
        return label.endIndex + dashes.count
    }
}
