/// Removes known secrets, and everything that looks like a JSON Web Token or a private key, from any bytes.
struct ByteScrubber {
    /// Shorter values are too likely to be part of something else.
    static let minimumLength = 8

    private let secrets: NotedPieces

    init(_ secrets: Set<String>) { self.secrets = NotedPieces(of: secrets.filter { !RedactedText.isRedacted($0) }) }

    /// Returns the bytes with `REDACTED` in the places of secrets.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - isJSON: Whether they are JSON, in which a number becomes 0, so that it stays JSON.
    /// - Returns: The bytes without secrets.
    func scrubbed(_ bytes: [UInt8], isJSON: Bool = false) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        // Before this position no token begins. Without it, a long text of `eyJ` would be read again and again.
        var next = 0
        // Where the last secret ended: what follows it at once may be its next piece, and needs no second `REDACTED`.
        var lastEnd: Int?
        while position < bytes.count {
            var end = secrets.end(in: bytes, at: position)
            if end == nil, position >= next, let run = TokenShapes.webToken(in: bytes, at: position) {
                if run.isToken { end = run.end } else { next = run.end }
            }
            end = end ?? TokenShapes.endOfPrivateKey(in: bytes, at: position)
            guard let end else {
                output.append(bytes[position])
                position += 1
                continue
            }
            let isNumber = isJSON && lastEnd != position && Self.mayBeNumber(bytes, position..<end)
            if isNumber {
                output.append(UInt8(ascii: "0"))
            } else if lastEnd != position {
                output += RedactedText.plain.utf8
            }
            position = end
            if isNumber {
                // Its further digits would make a number of 0 that JSON does not have, such as 01.
                while position < bytes.count, Self.isPartOfNumber(bytes[position]) { position += 1 }
            } else {
                lastEnd = end
            }
        }
        return output
    }

    /// Whether a range of JSON looks like a number, and does not begin a string.
    private static func mayBeNumber(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard range.lowerBound > 0, bytes[range.lowerBound - 1] != UInt8(ascii: "\"") else { return false }
        return bytes[range].allSatisfy(isPartOfNumber)
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) }
}
