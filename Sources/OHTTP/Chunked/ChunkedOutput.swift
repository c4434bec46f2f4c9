package import Foundation

/// Seals one message in chunks: a request or a response.
package protocol ChunkSealing: ~Copyable, Sendable {
    mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8]
    consuming func finish(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8]
}

extension ChunkedRequestSealer: ChunkSealing {}
extension ChunkedResponseSealer: ChunkSealing {}

/// Takes a message's parts as they come and gives what is to be sent: sealed chunks of the lengths that `ChunkBuffer` chooses.
package struct ChunkedOutput<Sealer: ChunkSealing & ~Copyable>: ~Copyable, Sendable {
    /// Nil once the last chunk is sealed.
    private var sealer: Sealer?
    private var buffer = ChunkBuffer()
    private var hasBegun = false

    /// The output of one message.
    package init(_ sealer: consuming Sealer) { self.sealer = consume sealer }

    /// Which bytes are held back; see `ChunkBuffer.holding`.
    package var holding: Int? { buffer.holding }

    /// Adds a part of the message.
    ///
    /// - Returns: what is to be sent now; may be empty.
    package mutating func add(_ bytes: [UInt8]) throws(OHTTPError) -> [UInt8] { try seal(buffer.add(bytes)) }

    /// Lets go of what is held back, because the message's producer pauses.
    ///
    /// - Returns: what is to be sent now; may be empty.
    package mutating func flush() throws(OHTTPError) -> [UInt8] { try seal(buffer.flush()) }

    /// Forgets what was added, to begin with another message.
    ///
    /// - Returns: whether it was in time: nothing has gone out yet.
    package mutating func restart() -> Bool {
        guard !hasBegun, sealer != nil else { return false }
        buffer = ChunkBuffer()
        return true
    }

    /// Adds the last part; what is left then comes from `next`.
    package mutating func end(_ bytes: [UInt8]) { buffer.end(bytes) }

    /// What is left after the end, piece by piece.
    ///
    /// - Returns: what is to be sent next; nil when that was all.
    package mutating func next() throws(OHTTPError) -> [UInt8]? {
        guard sealer != nil else { return nil }
        let (bytes, isLast) = buffer.next()
        guard isLast, let sealer = sealer.take() else { return try seal(bytes) }
        return try sealer.finish(bytes)
    }

    /// Seals a message that is there as a whole, and padded already.
    ///
    /// - Returns: all that is to be sent; nil when a message was ended before.
    package mutating func whole(_ message: [UInt8]) throws(OHTTPError) -> [UInt8]? {
        guard let sealer = sealer.take() else { return nil }
        return try sealer.finish(message)
    }

    private mutating func seal(_ bytes: ArraySlice<UInt8>) throws(OHTTPError) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        hasBegun = true
        return try sealer?.seal(bytes) ?? []
    }
}
