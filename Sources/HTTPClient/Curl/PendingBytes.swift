/// Bytes that wait to be sent: added at the end, taken from the start.
struct PendingBytes: Sendable {
    private var bytes: [UInt8] = []
    /// The bytes at the start that were taken already.
    private var taken = 0
    /// The most taken bytes to hold.
    private let spare: Int

    /// Makes an empty buffer.
    ///
    /// - Parameter spare: When this many bytes were taken, they are dropped at the latest.
    init(spare: Int) { self.spare = spare }

    /// The bytes that wait.
    var count: Int { bytes.count - taken }

    /// The bytes in memory.
    var held: Int { bytes.count }

    mutating func append(_ part: [UInt8]) {
        if taken >= spare {
            // A producer that is always ahead never lets the buffer run empty, so the taken bytes are dropped here.
            bytes.removeFirst(taken)
            taken = 0
        }
        if bytes.isEmpty { bytes = part } else { bytes += part }
    }

    /// Moves as many bytes as there are, and as fit, into a buffer, and returns their number.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, count)
        guard count > 0 else { return 0 }
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count])) }
        taken += count
        if taken == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            taken = 0
        }
        return count
    }
}
