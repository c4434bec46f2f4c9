/// The character sets of RFC 6749, appendix A, and comparisons that do not depend on the content.
enum OAuth2Text {
    /// The longest scope, in characters.
    private static let longestScope = 4_096

    /// Whether the text is 1 to `limit` printable ASCII characters, spaces included (VSCHAR).
    static func isVisible(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Whether the text is 1 to `limit` printable ASCII characters without spaces, so that it may follow a word in a header.
    static func isHeaderSafe(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Whether the text is a scope: not too long, without quotation marks and backslashes.
    static func isScope(_ text: String) -> Bool {
        text.utf8.count <= longestScope
            && text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// Checks a scope that the app asks for.
    ///
    /// - Throws: ``OAuth2Error`` with code `configurationError`.
    static func checkScope(_ text: String) throws {
        guard !text.isEmpty, isScope(text) else {
            throw OAuth2Error(
                .configurationError,
                "a scope must be words of printable ASCII without quotation marks and backslashes, separated by spaces; use nil for none")
        }
    }

    /// Compares two texts in a time that depends on their lengths only.
    static func isEqual(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
