import ApproovBase
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

/// Seals a request part by part, while its body is produced and sent (draft-ietf-ohai-chunked-ohttp).
///
/// The lengths of the chunks tell the relay as little as possible. If the body is in memory or in a file, or is a stream that does not
/// pause, they depend only on the request's size class. A stream that pauses is sent up to the pause, without waiting for the rest, so the
/// relay learns how many bytes came before each pause.
final class ChunkedRequestWriter: Sendable {
    private struct State: ~Copyable {
        var output: ChunkedOutput<ChunkedRequestSealer>
        /// Nil after the end of the message.
        var encoder: BinaryHTTPRequestEncoder? = BinaryHTTPRequestEncoder()
    }

    private let state: Mutex<State>
    private let pause: BodyPause

    /// Creates a writer for one request.
    ///
    /// - Parameters:
    ///   - sealer: Seals the request.
    ///   - time: The clock that decides when a stream has paused.
    init(_ sealer: consuming ChunkedRequestSealer, time: any TimeSource) {
        state = Mutex(State(output: ChunkedOutput(sealer)))
        pause = BodyPause { try await time.sleep(for: ChunkBuffer.longestWait) }
    }

    /// Returns the body of the outer request, which can be sent once.
    ///
    /// A body in memory is sealed at once. A file or a stream is sealed while the network sends it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - head: The head of the inner request, which the gateway sees.
    ///   - length: The number of bytes in its body; nil if not known.
    /// - Returns: The body to send, once.
    /// - Throws: `OHTTPError` when Binary HTTP cannot represent the request.
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

    /// The state of the bytes held back; see `ChunkBuffer.holding`.
    private var holding: Int? { state.withLock { $0.output.holding } }

    private func add(_ encode: (inout BinaryHTTPRequestEncoder?) throws -> [UInt8]?) throws -> [UInt8] {
        try state.withLock { state in
            guard let encoded = try encode(&state.encoder) else { throw Self.finished }
            return try state.output.add(encoded)
        }
    }

    private func flush() throws -> [UInt8] { try state.withLock { try $0.output.flush() } }

    /// Returns the next bytes to send after the last part of the body; nil when all have been sent.
    private func end() throws -> [UInt8]? {
        try state.withLock { state in
            if let encoder = state.encoder.take() { state.output.end(try encoder.end()) }
            return try state.output.next()
        }
    }

    private static var finished: ApproovError { ApproovError(.obliviousError, "a sealed request can be sent once only") }
}
