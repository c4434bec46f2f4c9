package import Foundation

/// Seals one message, a request or a response, in chunks.
package protocol ChunkSealing: ~Copyable, Sendable {
    mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8]
    consuming func finish(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8]
}

extension ChunkedRequestSealer: ChunkSealing {}
extension ChunkedResponseSealer: ChunkSealing {}

/// Turns the parts of a message into bytes to send: sealed chunks with the lengths that `ChunkBuffer` chooses.
package struct ChunkedOutput<Sealer: ChunkSealing & ~Copyable>: ~Copyable, Sendable {
    /// The sealer; nil once the last chunk is sealed.
    private var sealer: Sealer?
    private var buffer = ChunkBuffer()
    private var hasBegun = false

    /// Makes the output of one message.
    package init(_ sealer: consuming Sealer) { self.sealer = consume sealer }

    /// Identifies the bytes that are held back; see `ChunkBuffer.holding`.
    package var holding: Int? { buffer.holding }

    /// Adds a part of the message.
    ///
    /// - Parameter bytes: The part, of any length.
    /// - Returns: The bytes to send now; may be empty.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed` when sealing fails.
    package mutating func add(_ bytes: [UInt8]) throws(OHTTPError) -> [UInt8] { try seal(buffer.add(bytes)) }

    /// Releases the bytes held back, because the message's producer pauses.
    ///
    /// - Returns: The bytes to send now; may be empty.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed` when sealing fails.
    package mutating func flush() throws(OHTTPError) -> [UInt8] { try seal(buffer.flush()) }

    /// Discards the parts added so far, to begin with another message.
    ///
    /// - Returns: Whether this was possible, because nothing was sealed yet.
    package mutating func restart() -> Bool {
        guard !hasBegun, sealer != nil else { return false }
        buffer = ChunkBuffer()
        return true
    }

    /// Adds the last part; after that, `next` returns the rest.
    package mutating func end(_ bytes: [UInt8]) { buffer.end(bytes) }

    /// Returns the rest after `end`, piece by piece.
    ///
    /// - Returns: The bytes to send next; nil when the message is complete.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed` when sealing fails.
    package mutating func next() throws(OHTTPError) -> [UInt8]? {
        guard sealer != nil else { return nil }
        let (bytes, isLast) = buffer.next()
        guard isLast, let sealer = sealer.take() else { return try seal(bytes) }
        return try sealer.finish(bytes)
    }

    /// Seals a complete message that is already padded.
    ///
    /// - Parameter message: The message.
    /// - Returns: All bytes to send; nil when a message was sealed before.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed` when sealing fails.
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
