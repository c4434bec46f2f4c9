/// Removes known secrets, and everything that looks like a JSON Web Token, from any bytes.
struct ByteScrubber {
    /// Shorter values are too likely to be part of something else.
    static let minimumLength = 8

    /// The secrets by their first byte, the longest first.
    private var secrets: [UInt8: [[UInt8]]] = [:]

    init(_ secrets: Set<String>) {
        for secret in secrets where secret.utf8.count >= Self.minimumLength && !RedactedText.isRedacted(secret) {
            let bytes = Array(secret.utf8)
            self.secrets[bytes[0], default: []].append(bytes)
        }
        for first in self.secrets.keys { self.secrets[first]?.sort { $0.count > $1.count } }
    }

    func scrubbed(_ bytes: [UInt8]) -> [UInt8] {
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
                output += RedactedText.plain.utf8
                position += length
            } else {
                output.append(bytes[position])
                position += 1
            }
        }
        return output
    }

    private func lengthOfSecret(in bytes: [UInt8], at position: Int) -> Int? {
        guard let candidates = secrets[bytes[position]] else { return nil }
        return candidates.first { bytes[position...].starts(with: $0) }?.count
    }

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
