/// Finds the longest known secret that starts at a given position.
///
/// The search takes about 128 steps, however many secrets there are. A longer secret is looked for in pieces. Each occurrence of the whole
/// has all of them, one after the other.
struct NotedPieces {
    private static let maximumLength = 128

    /// The pieces by their first eight bytes; those with the same beginning are sorted, so that each further byte leaves a range of them.
    private let groups: [UInt64: [[UInt8]]]

    /// Prepares the search; secrets that are too short are left out.
    init(of secrets: Set<NotedSecret>) {
        var pieces: Set<[UInt8]> = []
        for secret in secrets where secret.bytes.count >= ByteScrubber.minimumLength {
            pieces.formUnion(Self.pieces(of: secret.bytes))
        }
        groups = Dictionary(grouping: pieces) { Self.beginning($0, at: 0) }.mapValues { $0.sorted { $0.lexicographicallyPrecedes($1) } }
    }

    /// Where the longest piece ends that begins at a position; nil when none does.
    func end(in bytes: [UInt8], at position: Int) -> Int? {
        guard !groups.isEmpty, bytes.count - position >= ByteScrubber.minimumLength,
            let group = groups[Self.beginning(bytes, at: position)]
        else { return nil }
        var (first, last) = (0, group.count)
        var depth = ByteScrubber.minimumLength
        var end: Int?
        while first < last {
            // Among pieces with the same beginning, the shortest piece comes first.
            if group[first].count == depth {
                end = position + depth
                first += 1
            }
            guard first < last, position + depth < bytes.count else { break }
            let byte = bytes[position + depth]
            // Sorted, so if both ends have the byte, all between them have it.
            guard group[first][depth] != byte || group[last - 1][depth] != byte else {
                depth += 1
                continue
            }
            (first, last) = (
                Self.boundary(in: group, first, last) { $0[depth] < byte }, Self.boundary(in: group, first, last) { $0[depth] <= byte }
            )
            depth += 1
        }
        return end
    }

    /// Where the pieces end that come before others in a range of a sorted group.
    private static func boundary(in group: [[UInt8]], _ first: Int, _ last: Int, comesBefore: ([UInt8]) -> Bool) -> Int {
        var (first, last) = (first, last)
        while first < last {
            let middle = (first + last) / 2
            if comesBefore(group[middle]) { first = middle + 1 } else { last = middle }
        }
        return first
    }

    /// The secret in pieces of nearly the same length: of about 64 to 128 bytes if it is longer than 128.
    private static func pieces(of secret: [UInt8]) -> [[UInt8]] {
        let count = (secret.count + maximumLength - 1) / maximumLength
        // No piece begins within a character: of a secret that is cut off, only whole characters stay.
        let ends = (0...count).map { number in secret[(secret.count * number / count)...].firstIndex { $0 & 0xC0 != 0x80 } ?? secret.count }
        return zip(ends, ends.dropFirst()).map { Array(secret[$0..<$1]) }
    }

    /// Eight bytes as a number.
    private static func beginning(_ bytes: [UInt8], at position: Int) -> UInt64 {
        var number: UInt64 = 0
        for index in position..<position + ByteScrubber.minimumLength { number = number << 8 | UInt64(bytes[index]) }
        return number
    }
}
