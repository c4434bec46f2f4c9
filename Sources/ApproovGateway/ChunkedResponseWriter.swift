internal import Foundation
internal import HTTPTypes
internal import OHTTP
internal import Synchronization

/// Writes a response in Binary HTTP as it comes and seals it in chunks, of lengths that tell the relay no more than they must.
///
/// A response that comes without pauses has the chunks of its size class. One that pauses goes on its way without what is to come, and
/// the relay learns how much there was before each pause.
final class ChunkedResponseWriter: Sendable {
    private struct Ended: Error {}

    private struct State: ~Copyable {
        var output: ChunkedOutput<ChunkedResponseSealer>
        /// Nil once the message is ended.
        var encoder: BinaryHTTPResponseEncoder? = BinaryHTTPResponseEncoder()
    }

    private let state: Mutex<State>

    /// Makes a writer for one response, which `sealer` seals.
    init(_ sealer: consuming ChunkedResponseSealer) {
        state = Mutex(State(output: ChunkedOutput(sealer)))
    }

    /// Which bytes are held back; see `ChunkBuffer.holding`.
    var holding: Int? { state.withLock { $0.output.holding } }

    /// Adds status and header fields.
    /// - Returns: what is to be sent now; may be empty
    func head(_ head: HTTPResponse) throws -> [UInt8] {
        try add { try $0?.head(head) }
    }

    /// Adds a part of the content.
    /// - Returns: what is to be sent now; may be empty
    func body(_ part: [UInt8]) throws -> [UInt8] {
        try add { try $0?.body(Data(part)) }
    }

    /// Lets go of what is held back, because the origin pauses.
    /// - Returns: what is to be sent now; may be empty
    func pause() throws -> [UInt8] { try state.withLock { try $0.output.flush() } }

    /// Puts another response in the place of what is held back, while nothing has gone out.
    /// - Returns: whether it was in time; then comes the end
    func begin(anew response: BinaryHTTPResponse) -> Bool {
        let isInTime = state.withLock { state in
            guard state.output.restart() else { return false }
            state.encoder = BinaryHTTPResponseEncoder()
            return true
        }
        guard isInTime, let sent = try? head(response.head) + body([UInt8](response.body)) else { return false }
        // A problem of the gateway's own is far from filling a chunk.
        return sent.isEmpty
    }

    /// Ends the response, piece by piece; without the last one the client takes nothing for complete.
    /// - Parameter trailers: the trailer fields, for the first piece
    /// - Returns: what is to be sent next; nil when that was all
    /// - Throws: `OHTTPError` for what cannot be encoded or sealed
    func end(trailers: HTTPFields = [:]) throws -> [UInt8]? {
        try state.withLock { state in
            if let encoder = state.encoder.take() { state.output.end(try encoder.end(trailers: trailers)) }
            return try state.output.next()
        }
    }

    /// A response that is there already.
    func whole(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        var bytes = try head(response.head) + body([UInt8](response.body))
        while let more = try end() { bytes += more }
        return bytes
    }

    private func add(_ encode: (inout BinaryHTTPResponseEncoder?) throws -> [UInt8]?) throws -> [UInt8] {
        try state.withLock { state in
            guard let encoded = try encode(&state.encoder) else { throw Ended() }
            return try state.output.add(encoded)
        }
    }
}
