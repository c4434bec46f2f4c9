internal import Foundation
internal import HTTPTypes
internal import OHTTP
internal import Synchronization

/// Encodes a response as Binary HTTP while it arrives, and seals it in chunks whose lengths tell the relay as little as possible.
///
/// A response that arrives without pauses has the chunk lengths of its size class. When the origin pauses, the bytes so far are sent
/// without waiting for more, and the relay learns how many there were before each pause.
final class ChunkedResponseWriter: Sendable {
    private struct Ended: Error {}

    private struct State: ~Copyable {
        var output: ChunkedOutput<ChunkedResponseSealer>
        /// Nil once the message has ended.
        var encoder: BinaryHTTPResponseEncoder? = BinaryHTTPResponseEncoder()
    }

    private let state: Mutex<State>

    /// Creates a writer for one response, which `sealer` seals.
    init(_ sealer: consuming ChunkedResponseSealer) {
        state = Mutex(State(output: ChunkedOutput(sealer)))
    }

    /// Identifies the bytes held back, nil if none are; see `ChunkBuffer.holding`.
    var holding: Int? { state.withLock { $0.output.holding } }

    /// Adds the status and the header fields.
    /// - Returns: The bytes to send now; may be empty.
    func head(_ head: HTTPResponse) throws -> [UInt8] {
        try add { try $0?.head(head) }
    }

    /// Adds a part of the content.
    /// - Returns: The bytes to send now; may be empty.
    func body(_ part: [UInt8]) throws -> [UInt8] {
        try add { try $0?.body(Data(part)) }
    }

    /// Releases the bytes held back, because the origin pauses.
    /// - Returns: The bytes to send now; may be empty.
    func pause() throws -> [UInt8] { try state.withLock { try $0.output.flush() } }

    /// Replaces the response by another one, if no byte of it has been sent.
    ///
    /// The caller then calls `end`.
    /// - Returns: Whether the response was replaced.
    func begin(again response: BinaryHTTPResponse) -> Bool {
        let isInTime = state.withLock { state in
            guard state.output.restart() else { return false }
            state.encoder = BinaryHTTPResponseEncoder()
            return true
        }
        guard isInTime, let sent = try? head(response.head) + body([UInt8](response.body)) else { return false }
        // The gateway's own problem responses are far smaller than a chunk, so nothing is ready to send yet.
        return sent.isEmpty
    }

    /// Ends the response, one piece per call; without the last piece the client treats the response as truncated.
    /// - Parameter trailers: The trailer fields; only the first call uses them.
    /// - Returns: The bytes to send next; nil when all are sent.
    /// - Throws: `OHTTPError` when the response cannot be encoded or sealed.
    func end(trailers: HTTPFields = [:]) throws -> [UInt8]? {
        try state.withLock { state in
            if let encoder = state.encoder.take() { state.output.end(try encoder.end(trailers: trailers)) }
            return try state.output.next()
        }
    }

    /// Seals a complete response and returns all of its bytes.
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
