extension ByteScrubber {
    /// Scrubs the strings of JSON, also the names of members, and its numbers.
    ///
    /// A name with a secret becomes `REDACTED-` and a number: equal ones would make one member of several.
    func scrubbedJSON(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        /// The last number of a substitute; nil until one is needed.
        var lastNumber: Int?
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let end = Self.endOfString(in: bytes, from: position + 1)
                let text = scrubbed(position + 1..<end, of: bytes, .json)
                output.append(UInt8(ascii: "\""))
                if Self.isName(in: bytes, endingAt: end), !text.elementsEqual(bytes[position + 1..<end]) {
                    let number = (lastNumber ?? RedactedText.lastNumber(in: bytes)) + 1
                    lastNumber = number
                    output += RedactedText.numbered(number).utf8
                } else {
                    output += text
                }
                output += bytes[end...].prefix(1)
                position = min(end + 1, bytes.count)
            case UInt8(ascii: "-"), 0x30...0x39:
                let end = bytes[position...].firstIndex { !Self.isPartOfNumber($0) } ?? bytes.count
                // Part of a number is no number, such as the 01 that may be left of it.
                let number = scrubbed(number: bytes[position..<end])
                output += number.elementsEqual(bytes[position..<end]) ? number : [UInt8(ascii: "0")]
                position = end
            default:
                output.append(bytes[position])
                position += 1
            }
        }
        return output
    }

    /// Where the closing quotation mark is.
    private static func endOfString(in bytes: [UInt8], from begin: Int) -> Int {
        var index = begin
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(index, bytes.count)
    }

    /// Whether a string whose closing quotation mark is at an index is the name of a member.
    private static func isName(in bytes: [UInt8], endingAt end: Int) -> Bool {
        bytes[end...].dropFirst().first { !Texts.isBlank($0) } == UInt8(ascii: ":")
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) }
}
