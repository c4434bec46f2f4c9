import DequeModule

/// Bytes that wait to be sent: added at the end, taken from the start.
struct PendingBytes: Sendable {
    /// A part that is smaller than this takes those that follow, because each array adds a cost.
    private static let smallest = 16 << 10

    private var parts: Deque<[UInt8]> = []
    /// The bytes of the first part that were taken already.
    private var taken = 0
    /// The bytes in memory.
    private(set) var held = 0

    /// The bytes that wait.
    var count: Int { held - taken }

    mutating func append(_ part: [UInt8]) {
        held += part.count
        // The first part may be half taken, and must not grow without limit.
        if parts.count > 1, parts[parts.count - 1].count < Self.smallest {
            parts[parts.count - 1] += part
        } else if !part.isEmpty {
            parts.append(part)
        }
    }

    /// Moves as many bytes as there are, and as fit, into a buffer, and returns their number.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count, let part = parts.first {
            let count = min(buffer.count - filled, part.count - taken)
            part.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count]))
            }
            filled += count
            taken += count
            guard taken == part.count else { break }
            parts.removeFirst()
            held -= taken
            taken = 0
        }
        return filled
    }
}
