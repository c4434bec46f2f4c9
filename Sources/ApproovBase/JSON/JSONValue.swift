/// A JSON value (RFC 8259) that keeps whole numbers and fractions apart: `7` is an integer, `7.0` is not.
package enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number.
    case real(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; each member's name occurs once.
    case object([String: JSONValue])

    /// The deepest accepted nesting of arrays and objects.
    package static let maximumDepth = 32
}

extension JSONValue {
    /// The compact text with members sorted by name, so that equal values have equal bytes.
    ///
    /// A number that is not finite is written as `null`, because JSON cannot express it.
    package func serialized() -> [UInt8] {
        var output: [UInt8] = []
        // Room for most messages at once, instead of an allocation at each doubling.
        output.reserveCapacity(1_024)
        write(to: &output)
        return output
    }

    func write(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): output.append(contentsOf: String(value).utf8)
        case .real(let value): output.append(contentsOf: (value.isFinite ? String(value) : "null").utf8)
        case .string(let value): JSONValue.write(value, to: &output)
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSONValue.write(member.key, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { bytes in
            // The bytes between two that must be escaped are appended at once.
            var start = 0
            for index in bytes.indices where mustBeEscaped(bytes[index]) {
                output.append(contentsOf: bytes[start..<index])
                writeEscaped(bytes[index], to: &output)
                start = index + 1
            }
            output.append(contentsOf: bytes[start...])
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func writeEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0a: output.append(UInt8(ascii: "n"))
        case 0x0d: output.append(UInt8(ascii: "r"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            output.append(contentsOf: "u00".utf8)
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 15)])
        default: output.append(byte)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    /// A string.
    package init(stringLiteral value: String) {
        self = .string(value)
    }
}
