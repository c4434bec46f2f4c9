internal import Attestation
internal import NIOCore
internal import Synchronization

/// The answers to `GET /v1/configuration`, of which each is made once.
///
/// Anyone may ask, and may read slowly: the answers that wait share their bytes.
final class ConfigurationAnswers: Sendable {
    private struct State {
        var generation: Int64 = -1
        /// By the number of configurations: an answer has the last ones of the snapshot.
        var answers: [Int: ByteBuffer] = [:]
    }

    private let state = Mutex(State())

    /// The bytes of an answer.
    /// - Parameters:
    ///   - configurations: The last configurations of a snapshot that a client needs.
    ///   - generation: The snapshot's generation.
    /// - Returns: A JSON array.
    func bytes(of configurations: [SignedConfiguration], in generation: Int64) -> ByteBuffer {
        let known: ByteBuffer? = state.withLock { $0.generation == generation ? $0.answers[configurations.count] : nil }
        if let known { return known }
        let bytes = ByteBuffer(bytes: JSONValue.array(configurations.map(\.json)).serialized())
        state.withLock { state in
            if state.generation < generation { state = State(generation: generation) }
            if state.generation == generation { state.answers[configurations.count] = bytes }
        }
        return bytes
    }
}
