internal import ApproovBase

/// The parameters of a query, as `@query-param` covers them (RFC 9421, section 2.2.8).
enum QueryParameters {
    /// The re-encoded value of the one parameter with a name.
    ///
    /// - Parameters:
    ///   - name: The percent-encoded name, as the component identifier has it.
    ///   - query: The query, without its leading `?`.
    /// - Returns: The percent-encoded value.
    /// - Throws: ``MessageSignatureError`` with code `missingComponent` when there is no such parameter, or more than one: RFC 9421 leaves
    ///   repeated parameters to `@query`.
    static func value(of name: String, in query: Substring.UTF8View) throws(MessageSignatureError) -> [UInt8] {
        var found: [UInt8]?
        for pair in query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard encode(decoded: decode(Array(parts[0]))).elementsEqual(name.utf8) else { continue }
            guard found == nil else {
                throw MessageSignatureError(.missingComponent, "the query has a covered parameter twice; cover \"@query\" instead")
            }
            found = encode(decoded: decode(parts.count == 2 ? Array(parts[1]) : []))
        }
        guard let found else {
            throw MessageSignatureError(.missingComponent, "the query lacks the covered parameter \(LoggableText.name(name))")
        }
        return found
    }

    /// Decodes `application/x-www-form-urlencoded` (WHATWG URL, section 5.1): a plus sign is a space, and `%` without two hexadecimal digits
    /// stands for itself.
    private static func decode(_ text: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count, let high = hex(text[index + 1]), let low = hex(text[index + 2]) {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(text[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : text[index])
                index += 1
            }
        }
        // Bytes that are not UTF-8 become U+FFFD, as that standard says.
        return Array(String(decoding: decoded, as: UTF8.self).utf8)
    }

    /// Percent-encodes all but letters, digits, `*`, `-`, `.` and `_`; a space becomes `%20`.
    static func encode(decoded text: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.count)
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digits[Int(byte >> 4)])
                encoded.append(digits[Int(byte & 15)])
            }
        }
        return encoded
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func hex(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
