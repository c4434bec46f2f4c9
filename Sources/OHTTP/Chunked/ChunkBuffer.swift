/// Gathers the parts of a message so that the lengths of its chunks, which any observer can read, reveal as little as possible.
///
/// It releases full chunks only, and at the end the rest with its padding: the lengths then depend only on the size class of the whole
/// message. When the producer pauses, `flush` releases the bytes held so far; an observer then learns when the producer paused and how
/// much it had produced by that time.
package struct ChunkBuffer: Sendable {
    /// How long bytes may wait for others to join them.
    package static let longestWait: Duration = .milliseconds(50)
    /// The number of padding bytes that are held in memory at once, in full chunks.
    private static let stride = 16 * Chunk.size

    private var held: [UInt8] = []
    /// The number of bytes of the message so far.
    private var count = 0
    /// How often bytes were released.
    private var departures = 0
    private var zeros = 0

    /// Makes an empty buffer for one message.
    package init() {}

    /// Identifies the bytes that are held; nil when none are.
    ///
    /// A different number means that the earlier bytes were released.
    package var holding: Int? { held.isEmpty ? nil : departures }

    /// Adds a part of the message.
    ///
    /// - Parameter bytes: The part, of any length.
    /// - Returns: Full chunks to seal and send; may be empty. At least one byte stays, so that a message that happens to end with a full
    ///   chunk looks like any other.
    package mutating func add(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        append(bytes)
        return release(fullChunks)
    }

    /// Releases everything, because the producer pauses.
    ///
    /// - Returns: The bytes to seal and send; may be empty.
    package mutating func flush() -> ArraySlice<UInt8> { release(held.count) }

    /// Adds the last part of the message, and zeros up to its size class.
    ///
    /// - Parameter bytes: The last part; may be empty.
    package mutating func end(_ bytes: [UInt8]) {
        append(bytes)
        zeros = BinaryHTTPPadding.sizeClasses.paddedSize(of: count) - count
    }

    /// Returns the rest after `end`, piece by piece.
    ///
    /// - Returns: The bytes to seal and send, and whether they are the last ones, which go into the final chunk.
    package mutating func next() -> (bytes: ArraySlice<UInt8>, isLast: Bool) {
        let isLast = held.count + zeros <= Self.stride
        let padding = min(zeros, max(Self.stride - held.count, 0))
        held.append(contentsOf: repeatElement(0, count: padding))
        zeros -= padding
        return (release(isLast ? held.count : fullChunks), isLast)
    }

    /// The number of bytes that fill chunks if at least one byte stays.
    private var fullChunks: Int { max(held.count - 1, 0) / Chunk.size * Chunk.size }

    private mutating func append(_ bytes: [UInt8]) {
        count += bytes.count
        if held.isEmpty { held = bytes } else { held += bytes }
    }

    private mutating func release(_ length: Int) -> ArraySlice<UInt8> {
        guard length > 0 else { return [] }
        departures += 1
        let bytes = held[..<length]
        var rest: [UInt8] = []
        if length < held.count {
            // The next part is probably as large as the last one, and then finds its place.
            rest.reserveCapacity(held.count)
            rest += held[length...]
        }
        held = rest
        return bytes
    }
}
