/// Removes known secrets, and everything that looks like a JSON Web Token or a private key, from any bytes.
struct ByteScrubber {
    /// Shorter values are too likely to be part of something else.
    static let minimumLength = 8

    /// What bytes are, and so where a secret may be in them.
    enum Syntax { case json, xml, other }

    private let secrets: NotedPieces

    init(_ secrets: Set<String>) { self.secrets = NotedPieces(of: secrets.filter { !RedactedText.isRedacted($0) }) }

    /// Returns the bytes with `REDACTED` in the places of secrets.
    ///
    /// JSON stays JSON: a number becomes 0, and a replacement never passes the end of its string. In XML it never passes a tag.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - syntax: What they are.
    /// - Returns: The bytes without secrets.
    func scrubbed(_ bytes: [UInt8], as syntax: Syntax = .other) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        // Before this position no token begins. Without it, a long text of `eyJ` would be read again and again.
        var next = 0
        var isInString = false
        while position < bytes.count {
            let byte = bytes[position]
            if syntax == .json, !isInString {
                if let end = secrets.end(in: bytes, at: position), bytes[position..<end].allSatisfy(Self.isPartOfNumber) {
                    output.append(UInt8(ascii: "0"))
                    // Further digits would make a number of 0 that JSON does not have, such as 01.
                    position = bytes[end...].firstIndex { !Self.isPartOfNumber($0) } ?? bytes.count
                } else {
                    isInString = byte == UInt8(ascii: "\"")
                    output.append(byte)
                    position += 1
                }
            } else if let end = endOfSecrets(in: bytes, at: position, syntax, &next) {
                output += RedactedText.plain.utf8
                position = end
            } else {
                if byte == UInt8(ascii: "\"") { isInString = false }
                let end = Self.endOfUnit(in: bytes, at: position, syntax)
                output += bytes[position..<end]
                position = end
            }
        }
        return output
    }

    /// Where a secret ends that begins at a position, with those that begin inside it or where it ends; nil when none begins there.
    private func endOfSecrets(in bytes: [UInt8], at position: Int, _ syntax: Syntax, _ next: inout Int) -> Int? {
        var last = secrets.end(in: bytes, at: position)
        if last == nil, position >= next, let run = TokenShapes.webToken(in: bytes, at: position) {
            if run.isToken { last = run.end } else { next = run.end }
        }
        guard let last = last ?? TokenShapes.endOfPrivateKey(in: bytes, at: position) else { return nil }
        var end = Self.reach(from: position, to: last, in: bytes, syntax)
        var begin = position + 1
        while begin <= end, begin < bytes.count {
            if let last = secrets.end(in: bytes, at: begin), last > end { end = Self.reach(from: end, to: last, in: bytes, syntax) }
            begin += 1
        }
        return end > position ? end : nil
    }

    /// The first end of a unit at or after `last`, or the place before it that a replacement must not pass.
    private static func reach(from position: Int, to last: Int, in bytes: [UInt8], _ syntax: Syntax) -> Int {
        var end = position
        while end < last {
            switch syntax {
            case .json where bytes[end] == UInt8(ascii: "\""): return end
            case .xml where bytes[end] == UInt8(ascii: "<"): return end
            default: end = endOfUnit(in: bytes, at: end, syntax)
            }
        }
        return end
    }

    /// The end of an escape sequence in a JSON string, or of a byte.
    private static func endOfUnit(in bytes: [UInt8], at position: Int, _ syntax: Syntax) -> Int {
        guard syntax == .json, bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count else { return position + 1 }
        return min(bytes.count, position + (bytes[position + 1] == UInt8(ascii: "u") ? 6 : 2))
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) }
}
