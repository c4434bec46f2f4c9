/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Whether a byte is a letter, a digit, `-`, `.`, `_` or `~` (RFC 3986, section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || [UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~")].contains(byte)
    }

    /// Whether a byte is an ASCII letter or digit.
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    /// Encodes bytes, with hexadecimal digits in upper case.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - isKept: Whether a byte stays as it is.
    /// - Returns: The encoded bytes.
    package static func encoded(_ bytes: some Collection<UInt8>, keeping isKept: (UInt8) -> Bool = isUnreserved) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        for byte in bytes {
            if isKept(byte) {
                encoded.append(byte)
            } else {
                appendEscape(of: byte, to: &encoded)
            }
        }
        return encoded
    }

    /// Appends the escape of a byte, with hexadecimal digits in upper case.
    ///
    /// - Parameters:
    ///   - byte: The byte.
    ///   - encoded: The encoded bytes before it.
    package static func appendEscape(of byte: UInt8, to encoded: inout [UInt8]) {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(digits[Int(byte >> 4)])
        encoded.append(digits[Int(byte & 15)])
    }

    /// Encodes the UTF-8 of a text: all but unreserved characters.
    package static func encoded(_ text: String) -> String { String(decoding: encoded(text.utf8), as: UTF8.self) }

    /// Decodes a text; a plus sign stays one.
    ///
    /// - Returns: The text; nil if an escape is malformed, or the bytes are not UTF-8.
    package static func decoded(_ text: some StringProtocol) -> String? {
        decode(text.utf8, isStrict: true).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes the well-formed escapes, and keeps each other byte as it is.
    package static func leniently(_ bytes: some Sequence<UInt8>) -> [UInt8] { decode(bytes, isStrict: false) ?? [] }

    /// Decodes the escapes of unreserved characters, and writes the others with digits in upper case (RFC 3986, section 6.2.2).
    package static func normalised(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let input = Array(bytes)
        var result: [UInt8] = []
        result.reserveCapacity(input.count)
        var index = 0
        while index < input.count {
            guard input[index] == UInt8(ascii: "%"), index + 2 < input.count, let high = digit(input[index + 1]),
                let low = digit(input[index + 2])
            else {
                result.append(input[index])
                index += 1
                continue
            }
            result += encoded(CollectionOfOne(high << 4 | low))
            index += 3
        }
        return result
    }

    /// Decodes escapes; a malformed one is kept, or makes the result nil.
    private static func decode(_ bytes: some Sequence<UInt8>, isStrict: Bool) -> [UInt8]? {
        let input = Array(bytes)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(input.count)
        var index = 0
        while index < input.count {
            guard input[index] == UInt8(ascii: "%") else {
                decoded.append(input[index])
                index += 1
                continue
            }
            if index + 2 < input.count, let high = digit(input[index + 1]), let low = digit(input[index + 2]) {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                guard !isStrict else { return nil }
                decoded.append(input[index])
                index += 1
            }
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
