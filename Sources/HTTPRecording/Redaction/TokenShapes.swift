import ApproovBase

/// Finds secrets by their form in a text: JSON Web Tokens and private keys.
///
/// The positions must not decrease. Then each byte is read a few times at most, however many tokens and keys seem to begin in the text.
struct TokenShapes {
    /// What `{"`, `{ ` and `{` before a line break or a tab become in base64url.
    private static let tokenBeginnings = ["eyJ", "eyA", "ewo", "ew0", "ewk"].map { Array($0.utf8) }
    private static let keyBeginning = Array("-----BEGIN ".utf8)
    private static let keyName = Array("PRIVATE KEY".utf8)
    private static let dashes = Array("-----".utf8)
    private static let keyEnd = Array("-----END ".utf8)
    /// The longest text between `BEGIN` and the hyphens.
    private static let maximumLabelLength = 64

    /// The characters of a token and dots: a token that begins in them ends where they do.
    private struct Run {
        var end: Int
        /// Where the second-to-last dot is: after the beginning of each token.
        var dot: Int?
    }

    private let text: ArraySlice<UInt8>
    /// The last run of a token's characters.
    private var run: Run
    /// Where the last header of a token ends: at a dot.
    private var endOfHeader: Int
    /// Whether that header ends as an object of JSON does, by the remainder of its length when divided by 4; nil when not known yet.
    ///
    /// Headers that end at the same dot and whose lengths leave the same remainder decode to the same end, so one answer serves them all.
    private var endings: [Bool?] = []
    /// Where the last key ends: one that begins in it ends there, too.
    private var endOfKey: Int

    init(in text: ArraySlice<UInt8>) {
        self.text = text
        run = Run(end: text.startIndex)
        (endOfHeader, endOfKey) = (text.startIndex, text.startIndex)
    }

    /// Where a secret ends that begins at a position of the text; nil when none does.
    mutating func end(at position: Int) -> Int? {
        if let end = endOfWebToken(at: position) { return end }
        guard position >= endOfKey, let end = Self.endOfPrivateKey(in: text, at: position) else { return nil }
        endOfKey = end
        return end
    }

    /// Where a JSON Web Token (RFC 7519) ends that begins at a position; nil when none does.
    ///
    /// Two dots or more follow in its run, and its header is an object of JSON. Words such as `publicKeyJwk.kty.x` begin like one, too.
    private mutating func endOfWebToken(at position: Int) -> Int? {
        guard text[position] == UInt8(ascii: "e"), Self.tokenBeginnings.contains(where: { text[position...].starts(with: $0) }) else {
            return nil
        }
        if position >= run.end { run = Self.run(in: text, at: position) }
        guard let dot = run.dot, position < dot else { return nil }
        if position >= endOfHeader {
            endOfHeader = text[position...].firstIndex(of: UInt8(ascii: ".")) ?? run.end
            endings = Array(repeating: nil, count: 4)
        }
        let remainder = (endOfHeader - position) % 4
        let isHeader = endings[remainder] ?? Self.endsAsObject(text[position..<endOfHeader])
        endings[remainder] = isHeader
        return isHeader ? run.end : nil
    }

    private static func run(in text: ArraySlice<UInt8>, at position: Int) -> Run {
        let end = text[position...].firstIndex { !isTokenByte($0) && $0 != UInt8(ascii: ".") } ?? text.endIndex
        let last = text[position..<end].lastIndex(of: UInt8(ascii: "."))
        return Run(end: end, dot: last.flatMap { text[position..<$0].lastIndex(of: UInt8(ascii: ".")) })
    }

    /// Whether the text that base64url stands for ends as an object of JSON does; blanks may follow the object.
    private static func endsAsObject(_ header: ArraySlice<UInt8>) -> Bool {
        Base64URL.decode(String(decoding: header, as: UTF8.self))?.last { !Texts.isBlank($0) } == UInt8(ascii: "}")
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
