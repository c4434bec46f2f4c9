import ApproovBase

/// Takes off the encodings that a value of a body may have: it may be a document or a query inside another one.
enum TextDecoding {
    /// How many encodings inside one another are taken off.
    private static let maximumRounds = 3

    /// The text, and the text after each encoding that is taken off: one level of XML references, then all nested levels, percent-encoding,
    /// and the escapes of JSON `\uXXXX` of ASCII, `\"`, `\\` and `\/`.
    ///
    /// A secret may be in any of them: it may itself have characters that look like an encoding.
    static func stages(of text: [UInt8]) -> [[UInt8]] {
        var stages = [text]
        guard text.contains(where: { "\\&%".utf8.contains($0) }) else { return stages }
        for _ in 0..<maximumRounds {
            let text = stages[stages.count - 1]
            let withoutReferences = References.decoded(text[...])
            let withoutPercent = PercentEncoding.leniently(withoutReferences)
            stages += [References.decodedOnce(text[...]), withoutReferences, withoutPercent, withoutEscapes(withoutPercent)]
            if stages[stages.count - 1] == text { break }
        }
        return stages
    }

    /// The text with a blank in the place of each `+`, as in a form and often in a query.
    static func withBlanks(_ text: [UInt8]) -> [UInt8] { text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 } }

    /// The text with the characters of ASCII in the places of `\u0000` to `\u007F`, and without the backslash in `\"`, `\\` and `\/`.
    private static func withoutEscapes(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(UInt8(ascii: "\\")) else { return text }
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "\\"), text.count - index >= 6, text[index...].starts(with: "\\u00".utf8),
                (0x30...0x37).contains(text[index + 4]),
                let code = UInt8(String(decoding: text[index + 4..<index + 6], as: UTF8.self), radix: 16)
            {
                output.append(code)
                index += 6
            } else if text[index] == UInt8(ascii: "\\"), let next = text[(index + 1)...].first, "\"\\/".utf8.contains(next) {
                output.append(next)
                index += 2
            } else {
                output.append(text[index])
                index += 1
            }
        }
        return output
    }
}
