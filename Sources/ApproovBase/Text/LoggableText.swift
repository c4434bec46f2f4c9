/// Makes text from outside safe for one line of a log.
package enum LoggableText {
    /// The text with everything but printable ASCII escaped, cut after `limit` characters.
    ///
    /// - Parameters:
    ///   - text: The text from outside.
    ///   - limit: The most characters.
    /// - Returns: The text for the log; it ends with `...` when it was cut.
    package static func quoted(_ text: String, limit: Int = 100) -> String {
        // Most texts need no change.
        if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var result = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            guard count < limit else { return result + "..." }
            if (0x20..<0x7F).contains(scalar.value) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }

    /// The longest name that is not cut, in characters.
    package static let longestName = 80
    /// The longest host that is not cut, in characters: the longest valid name.
    package static let longestHost = 253

    /// The text without what precedes its last `@` after the scheme: in a URL, that is user information (RFC 3986, section 3.2.1).
    ///
    /// - Parameter text: A URL, a host, or what a user wrote in the place of one.
    /// - Returns: The text without a password.
    package static func withoutUser(_ text: String) -> String {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        guard let sign = text[start...].lastIndex(of: "@") else { return text }
        return text[..<start] + "..." + text[sign...]
    }

    /// A name from outside as printable ASCII without spaces; other characters become `?`, and `…` stands for those after the 80th.
    package static func name(_ name: String) -> String {
        // Most names need no change.
        if name.utf8.count <= longestName, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return name }
        let shown = name.unicodeScalars.prefix(longestName).map { (0x21...0x7E).contains($0.value) ? Character($0) : "?" }
        return String(shown) + (name.unicodeScalars.count > longestName ? "…" : "")
    }
}
