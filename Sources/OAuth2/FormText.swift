/// Texts of the media type application/x-www-form-urlencoded (RFC 6749, appendix B).
enum FormText {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Encodes one name or value.
    static func encode(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"):
                output.append(byte)
            case UInt8(ascii: " "): output.append(UInt8(ascii: "+"))
            default: output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Encodes parameters in their order.
    static func encode(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Decodes a query; nil if it has more than `limit` parameters, a bad percent sign, or bytes that are not UTF-8.
    static func decode(_ text: some StringProtocol, limit: Int) -> [(name: String, value: String)]? {
        var parameters: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            guard parameters.count < limit else { return nil }
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeOne(Array(halves[0])), let value = decodeOne(halves.count == 2 ? Array(halves[1]) : []) else {
                return nil
            }
            parameters.append((name, value))
        }
        return parameters
    }

    private static func decodeOne(_ bytes: [UInt8]) -> String? {
        var output: [UInt8] = []
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "%"):
                guard index + 2 < bytes.count, let high = hex(bytes[index + 1]), let low = hex(bytes[index + 2]) else { return nil }
                output.append(high << 4 | low)
                index += 2
            case UInt8(ascii: "+"): output.append(UInt8(ascii: " "))
            case let byte: output.append(byte)
            }
            index += 1
        }
        return String(validating: output, as: UTF8.self)
    }

    private static func hex(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
