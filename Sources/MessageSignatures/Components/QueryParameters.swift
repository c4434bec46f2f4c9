internal import ApproovBase

/// The parameters of a query, as `@query-param` covers them (RFC 9421, section 2.2.8).
struct QueryParameters {
    /// The percent-encoded values by percent-encoded name; nil for a name that occurs more than once.
    private var values: [[UInt8]: [UInt8]?] = [:]

    /// Reads a query.
    ///
    /// - Parameter query: The query, without its leading `?`.
    init(_ query: Substring.UTF8View) {
        for pair in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.encode(decoded: Self.decode(parts[0]))
            let isRepeated = values[name] != nil
            values[name] = .some(isRepeated ? nil : Self.encode(decoded: parts.count == 2 ? Self.decode(parts[1]) : []))
        }
    }

    /// The re-encoded value of the one parameter with a name.
    ///
    /// - Parameter name: The percent-encoded name, as the component identifier has it.
    /// - Returns: The percent-encoded value.
    /// - Throws: ``MessageSignatureError`` with code `missingComponent` when there is no such parameter, or more than one: RFC 9421 leaves
    ///   repeated parameters to `@query`.
    func value(of name: String) throws(MessageSignatureError) -> [UInt8] {
        switch values[Array(name.utf8)] {
        case .some(.some(let value)): return value
        case .some(.none):
            throw MessageSignatureError(.missingComponent, "the query has a covered parameter twice; cover \"@query\" instead")
        case nil:
            throw MessageSignatureError(.missingComponent, "the query lacks the covered parameter \(LoggableText.name(name))")
        }
    }

    /// Decodes `application/x-www-form-urlencoded` (WHATWG URL, section 5.1): a plus sign is a space, and `%` without two hexadecimal digits
    /// stands for itself.
    private static func decode(_ text: some Sequence<UInt8>) -> [UInt8] {
        let decoded = PercentEncoding.leniently(text.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
        // Bytes that are not UTF-8 become U+FFFD, as that standard says.
        return Array(String(decoding: decoded, as: UTF8.self).utf8)
    }

    /// Percent-encodes all but letters, digits, `*`, `-`, `.` and `_`; a space becomes `%20`.
    static func encode(decoded text: [UInt8]) -> [UInt8] {
        PercentEncoding.encoded(text) { byte in
            PercentEncoding.isAlphanumeric(byte)
                || [UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_")].contains(byte)
        }
    }
}
