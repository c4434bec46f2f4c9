import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

/// Seals a request part by part, while its body is made and sent (draft-ietf-ohai-chunked-ohttp), in chunks of lengths that tell the
/// relay no more than they must.
///
/// A request whose body is in memory or in a file has the chunks of its size class, and so has a stream that does not pause. A stream that
/// does goes on its way without what is to come, and the relay learns how much there was before each pause.
final class ChunkedRequestWriter: Sendable {
    private struct State: ~Copyable {
        var output: ChunkedOutput<ChunkedRequestSealer>
        /// Nil once the message is ended.
        var encoder: BinaryHTTPRequestEncoder? = BinaryHTTPRequestEncoder()
    }

    private let state: Mutex<State>
    private let pause: BodyPause

    /// Makes a writer for one request.
    ///
    /// - Parameters:
    ///   - sealer: Seals it.
    ///   - time: Says when a stream pauses.
    init(_ sealer: consuming ChunkedRequestSealer, time: any TimeSource) {
        state = Mutex(State(output: ChunkedOutput(sealer)))
        pause = BodyPause { try await time.sleep(for: ChunkBuffer.longestWait) }
    }

    /// The body of the outer request.
    ///
    /// What is in memory is sealed at once; a file or a stream as the network takes it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - head: What the gateway learns of it besides its body.
    ///   - length: The bytes of its body, where they are known.
    /// - Returns: What is to be sent, once.
    /// - Throws: `OHTTPError` for a request that Binary HTTP cannot say.
    func body(of request: TransportRequest, head: HTTPRequest, length: Int?) throws -> RequestBody {
        switch request.body {
        case .none: return .bytes(try whole(BinaryHTTPRequest(head: head)))
        case .bytes(let bytes): return .bytes(try whole(BinaryHTTPRequest(head: head, body: Data(bytes))))
        case .file, .stream:
            let inner = request.body
            let report = UploadReport(of: request, total: length)
            return .stream(
                length: nil,
                RequestBodyStream { [self] sink in
                    @Sendable func send(_ bytes: [UInt8]) async throws { if !bytes.isEmpty { try await sink(bytes) } }
                    try await send(add { try $0?.head(head) })
                    try await inner.forEachPart(pause, holding: holding) { [self] event in
                        switch event {
                        case .part(let part):
                            try await send(add { try $0?.body(Data(part)) })
                            report?.add(part.count)
                        case .pause: try await send(flush())
                        }
                        return holding
                    }
                    while let bytes = try end() { try await send(bytes) }
                })
        }
    }

    private func whole(_ message: BinaryHTTPRequest) throws -> [UInt8] {
        let bytes = try message.encoded(padding: .sizeClasses)
        return try state.withLock { state in
            guard let sealed = try state.output.whole(bytes) else { throw Self.finished }
            return sealed
        }
    }

    /// Which bytes are held back; see `ChunkBuffer.holding`.
    private var holding: Int? { state.withLock { $0.output.holding } }

    private func add(_ encode: (inout BinaryHTTPRequestEncoder?) throws -> [UInt8]?) throws -> [UInt8] {
        try state.withLock { state in
            guard let encoded = try encode(&state.encoder) else { throw Self.finished }
            return try state.output.add(encoded)
        }
    }

    private func flush() throws -> [UInt8] { try state.withLock { try $0.output.flush() } }

    /// What is to be sent next after all parts of the body; nil when that was all.
    private func end() throws -> [UInt8]? {
        try state.withLock { state in
            if let encoder = state.encoder.take() { state.output.end(try encoder.end()) }
            return try state.output.next()
        }
    }

    private static var finished: ApproovError { ApproovError(.obliviousError, "a sealed request can be sent once only") }
}
