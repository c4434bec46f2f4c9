/// Gathers the parts of a message that is sent in chunks, so that the lengths of the chunks, which anybody on the way can read, say as
/// little as may be.
///
/// What goes out are full chunks and, at the end, all that is left with zeros behind it: the lengths then follow from the size class of
/// the whole message. When its producer pauses, `flush` lets go of what is held; whoever watches then learns how much came before that
/// pause, as he learns when it was.
package struct ChunkBuffer: Sendable {
    /// How long bytes may be held back for others to go with them.
    package static let longestWait: Duration = .milliseconds(50)
    /// The most zeros in memory, in full chunks.
    private static let stride = 16 * Chunk.size

    private var held: [UInt8] = []
    /// Bytes of the message so far.
    private var count = 0
    /// How often bytes went out.
    private var departures = 0
    private var zeros = 0

    /// An empty buffer, for one message.
    package init() {}

    /// Which bytes are held, nil: none; another number means that those held before have gone out.
    package var holding: Int? { held.isEmpty ? nil : departures }

    /// Adds a part of the message.
    ///
    /// - Parameter bytes: any number.
    /// - Returns: what fills chunks, to be sealed and sent; empty when there is nothing to send yet. At least one byte stays, so that
    ///   nobody can tell a message that happens to end with a full chunk.
    package mutating func add(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        append(bytes)
        return release(fullChunks)
    }

    /// Lets go of everything, because the producer pauses.
    ///
    /// - Returns: what is to be sealed and sent; may be empty.
    package mutating func flush() -> ArraySlice<UInt8> { release(held.count) }

    /// Adds the last part of the message, and zeros up to its size class.
    ///
    /// - Parameter bytes: any number.
    package mutating func end(_ bytes: [UInt8]) {
        append(bytes)
        zeros = BinaryHTTPPadding.sizeClasses.paddedSize(of: count) - count
    }

    /// What is left after the end, piece by piece.
    ///
    /// - Returns: the bytes to be sealed and sent, and whether they are the last, which go into the final chunk.
    package mutating func next() -> (bytes: ArraySlice<UInt8>, isLast: Bool) {
        let isLast = held.count + zeros <= Self.stride
        let padding = min(zeros, max(Self.stride - held.count, 0))
        held.append(contentsOf: repeatElement(0, count: padding))
        zeros -= padding
        return (release(isLast ? held.count : fullChunks), isLast)
    }

    /// How many bytes fill chunks when one byte at least is to stay.
    private var fullChunks: Int { max(held.count - 1, 0) / Chunk.size * Chunk.size }

    private mutating func append(_ bytes: [UInt8]) {
        count += bytes.count
        if held.isEmpty { held = bytes } else { held += bytes }
    }

    private mutating func release(_ length: Int) -> ArraySlice<UInt8> {
        guard length > 0 else { return [] }
        departures += 1
        let bytes = held[..<length]
        held = Array(held[length...])
        return bytes
    }
}
