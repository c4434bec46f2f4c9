/// Redacts what follows the name of a secret in lines of text, such as `password = x` and `X-Api-Key: y`.
enum TextRedactor {
    /// Returns the text without the rests of lines that follow a secret name and `=` or `:`.
    static func redacted(_ text: [UInt8], _ names: SecretNames) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            guard isWord(text[position]) else {
                output.append(text[position])
                position += 1
                continue
            }
            let end = text[position...].firstIndex { !isWord($0) } ?? text.count
            let name = String(decoding: text[position..<end], as: UTF8.self)
            output += text[position..<end]
            position = end
            guard let value = beginOfValue(text, after: end), names.contains(name) else { continue }
            output += text[end..<value]
            output += RedactedText.plain.utf8
            position = text[value...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? text.count
        }
        return output
    }

    /// Where the value of a name begins: after a quotation mark, `=` or `:`, and blanks; nil when there is no value in the line.
    private static func beginOfValue(_ text: [UInt8], after end: Int) -> Int? {
        var index = end
        if index < text.count, text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "'") { index += 1 }
        while index < text.count, isBlank(text[index]) { index += 1 }
        guard index < text.count, text[index] == UInt8(ascii: "=") || text[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        while index < text.count, isBlank(text[index]) { index += 1 }
        return index < text.count && text[index] != 0x0A && text[index] != 0x0D ? index : nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether a byte may be part of a name: letters, digits, `-` and `_`, and characters beyond ASCII.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), 0x80...: true
        default: false
        }
    }
}
