/// Redacts what follows the name of a secret in lines of text, such as `password = x` and `X-Api-Key: y`.
enum TextRedactor {
    /// What may stand between a name and `=` or `:`, beside ASCII: no-break spaces and closing quotation marks.
    private static let wideGaps = ["\u{A0}", "\u{202F}", "\u{BB}", "\u{2019}", "\u{201D}"].map { Array($0.utf8) }

    /// Returns the text without the rests of lines that follow a secret name and `=` or `:`.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - names: The names of secrets.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The text for the recording.
    static func redacted(_ text: [UInt8], _ names: SecretNames, _ secrets: inout Set<NotedSecret>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            // No run begins with a gap, so each gap is read twice at most.
            let length = isWord(text[position]) ? gap(text, at: position) : 1
            guard length == 0 else {
                output += text[position..<position + length]
                position += length
                continue
            }
            let end = text[position...].firstIndex { !isWord($0) } ?? text.count
            let run = text[position..<end]
            output += run
            position = end
            guard let value = beginOfValue(text, after: end), endsWithName(run, names) else { continue }
            output += text[end..<value]
            output += RedactedText.plain.utf8
            position = text[value...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? text.count
            note(text[value..<position], &secrets)
        }
        return output
    }

    /// Notes the rest of a line, and its beginning up to what may end a value in a query, in code or in JSON.
    private static func note(_ rest: ArraySlice<UInt8>, _ secrets: inout Set<NotedSecret>) {
        secrets.noteUnstructured(Texts.trimmed(rest))
        secrets.noteUnstructured(rest.drop { "\\\"'".utf8.contains($0) }.prefix { !"\\\"' &,;<>{}[]()\t".utf8.contains($0) })
    }

    /// Whether the last word of a run, with or without the words that dots join to it, is the name of a secret.
    private static func endsWithName(_ run: ArraySlice<UInt8>, _ names: SecretNames) -> Bool {
        let run = String(decoding: run, as: UTF8.self)
        let last = [SecretNames.words(of: run).last, SecretNames.words(of: run, joinedBy: ".").last]
        return last.contains { $0.map(names.contains) ?? false }
    }

    /// Where the value of a name begins: after quotation marks, brackets and blanks, `=` or `:`, and blanks; nil when there is no value in
    /// the line.
    private static func beginOfValue(_ text: [UInt8], after end: Int) -> Int? {
        var index = end
        // With more indices, a long row of them would be read again from each one.
        var hasIndex = false
        while true {
            if case let length = gap(text, at: index), length > 0 {
                index += length
            } else if !hasIndex, case let length = arrayIndex(text, at: index), length > 0 {
                index += length
                hasIndex = true
            } else {
                break
            }
        }
        guard index < text.count, text[index] == UInt8(ascii: "=") || text[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        while index < text.count, isSpace(text[index]) { index += 1 }
        return index < text.count && text[index] != 0x0A && text[index] != 0x0D ? index : nil
    }

    /// The number of bytes of a character that may stand between a name and `=` or `:`; 0 when there is none.
    ///
    /// The name may be in JSON inside a string, as in `{\"password\":`, or an index, as in `user['password'] =`.
    private static func gap(_ text: [UInt8], at index: Int) -> Int {
        guard index < text.count else { return 0 }
        if text[index] < 0x80 { return isSpace(text[index]) || "\\\"'])".utf8.contains(text[index]) ? 1 : 0 }
        return wideGaps.first { text[index...].starts(with: $0) }?.count ?? 0
    }

    /// The number of bytes of an index, such as `[]` in `tokens[]=x` and `[0]`; 0 when there is none.
    private static func arrayIndex(_ text: [UInt8], at index: Int) -> Int {
        guard index < text.count, text[index] == UInt8(ascii: "[") else { return 0 }
        let end = text[(index + 1)...].firstIndex { !(0x30...0x39).contains($0) }
        guard let end, text[end] == UInt8(ascii: "]") else { return 0 }
        return end + 1 - index
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether a byte may be part of a run with a name at its end: letters, digits, `-`, `_` and `.`, and characters beyond ASCII.
    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...: true
        default: false
        }
    }
}
