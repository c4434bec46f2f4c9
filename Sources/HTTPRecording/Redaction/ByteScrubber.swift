/// Removes known secrets, and everything that looks like a JSON Web Token, from any bytes.
struct ByteScrubber {
    /// Shorter values are too likely to be part of something else.
    static let minimumLength = 8

    /// Secrets with the same beginning.
    private struct Group {
        /// The lengths that occur, the longest first.
        var lengths: [Int] = []
        var secrets: Set<ArraySlice<UInt8>> = []
    }

    /// The secrets by their first eight bytes, so that a body with very many secrets takes little longer.
    private var groups: [UInt64: Group] = [:]

    init(_ secrets: Set<String>) {
        for secret in secrets where secret.utf8.count >= Self.minimumLength && !RedactedText.isRedacted(secret) {
            let bytes = Array(secret.utf8)[...]
            groups[Self.beginning(bytes), default: Group()].secrets.insert(bytes)
        }
        groups = groups.mapValues { Group(lengths: Set($0.secrets.map(\.count)).sorted(by: >), secrets: $0.secrets) }
    }

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
        while position < bytes.count {
            var length = lengthOfSecret(in: bytes, at: position)
            if length == nil, position >= next, let run = Self.tokenRun(in: bytes, at: position) {
                if run.isToken { length = run.end - position } else { next = run.end }
            }
            if let length {
                let isNumber = isJSON && Self.mayBeNumber(bytes, position..<position + length)
                output += isNumber ? [UInt8(ascii: "0")] : Array(RedactedText.plain.utf8)
                position += length
                // Its further digits would make a number of 0 that JSON does not have, such as 01.
                while isNumber, position < bytes.count, Self.isPartOfNumber(bytes[position]) { position += 1 }
            } else {
                output.append(bytes[position])
                position += 1
            }
        }
        return output
    }

    private func lengthOfSecret(in bytes: [UInt8], at position: Int) -> Int? {
        guard !groups.isEmpty, bytes.count - position >= Self.minimumLength else { return nil }
        guard let group = groups[Self.beginning(bytes[position...])] else { return nil }
        return group.lengths.first { $0 <= bytes.count - position && group.secrets.contains(bytes[position..<position + $0]) }
    }

    /// The first eight bytes as a number.
    private static func beginning(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.prefix(minimumLength).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Whether a range of JSON looks like a number, and does not begin a string.
    private static func mayBeNumber(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard range.lowerBound > 0, bytes[range.lowerBound - 1] != UInt8(ascii: "\"") else { return false }
        return bytes[range].allSatisfy(isPartOfNumber)
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) }

    /// Where the characters of a JSON Web Token (RFC 7519) end that begin with `eyJ`, and whether they are one: it has two or four dots.
    private static func tokenRun(in bytes: [UInt8], at position: Int) -> (end: Int, isToken: Bool)? {
        guard bytes[position] == UInt8(ascii: "e"), bytes[position...].starts(with: "eyJ".utf8) else { return nil }
        var dots = 0
        var end = position
        while end < bytes.count {
            switch bytes[end] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): end += 1
            case UInt8(ascii: "."):
                dots += 1
                end += 1
            default: return (end, dots >= 2)
            }
        }
        return (end, dots >= 2)
    }
}
