import ApproovBase

/// The characters of XML 1.0.
enum XMLCharacters {
    /// Whether the text is a name (XML 1.0, fifth edition, production 5).
    static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, isNameStart(first.value) else { return false }
        return text.unicodeScalars.dropFirst().allSatisfy { isNameStart($0.value) || isFurther($0.value) }
    }

    private static func isNameStart(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x3A, 0x41...0x5A, 0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D, 0x37F...0x1FFF, 0x200C...0x200D,
            0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF, 0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    private static func isFurther(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x2D, 0x2E, 0x30...0x39, 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: false
        }
    }

    /// Writes text so that reading it gives the same text.
    ///
    /// Carriage returns are escaped because parsers replace them, and in attributes all white space but spaces, for the same reason.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isAttribute: Whether it is an attribute's value, within quotation marks.
    ///   - element: The element that has it, for the error.
    ///   - output: Where it goes.
    /// - Throws: ``APIError`` with code `invalidBody` for a character that XML cannot express.
    static func escape(_ text: String, isAttribute: Bool, in element: String, to output: inout [UInt8]) throws {
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: output += "&amp;".utf8
            case 0x3C: output += "&lt;".utf8
            case 0x3E: output += "&gt;".utf8
            case 0x22 where isAttribute: output += "&quot;".utf8
            case 0x9 where isAttribute: output += "&#9;".utf8
            case 0xA where isAttribute: output += "&#10;".utf8
            case 0xD: output += "&#13;".utf8
            case 0x9, 0xA, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: output += UTF8.encode(scalar) ?? .init()
            default:
                throw APIError(
                    .invalidBody,
                    "a text or an attribute of the element \(LoggableText.name(element)) has a character that XML cannot express")
            }
        }
    }
}
