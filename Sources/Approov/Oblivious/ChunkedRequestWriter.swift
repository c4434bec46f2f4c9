import Foundation
import HTTPTransport
import HTTPTypes
import OHTTP
import Synchronization

/// Seals a request part by part, while its body is made and sent (draft-ietf-ohai-chunked-ohttp).
final class ChunkedRequestWriter: Sendable {
    /// Up to how many bytes of body the length is hidden; padding is made in memory.
    private static let paddedBytes = 1 << 20

    private struct State: ~Copyable {
        /// Nil once the request is complete.
        var sealer: ChunkedRequestSealer?
        var encoder: BinaryHTTPRequestEncoder? = BinaryHTTPRequestEncoder()

        init(_ sealer: consuming ChunkedRequestSealer) {
            self.sealer = consume sealer
        }
    }

    private let state: Mutex<State>

    init(_ sealer: consuming ChunkedRequestSealer) {
        state = Mutex(State(sealer))
    }

    /// The body of the outer request.
    ///
    /// What is in memory is sealed at once; a file or a stream as the network takes it.
    func body(of request: TransportRequest, head: HTTPRequest) throws -> RequestBody {
        switch request.body {
        case .none: return .bytes(try whole(BinaryHTTPRequest(head: head)))
        case .bytes(let bytes): return .bytes(try whole(BinaryHTTPRequest(head: head, body: Data(bytes))))
        case .file, .stream:
            let (inner, report) = (request.body, request.options.onUpload)
            let total: Int? =
                if case .stream(let length, _) = inner { length } else { nil }
            return .stream(
                length: nil,
                RequestBodyStream { [self] sink in
                    try await sink(try begin(head))
                    let sent = Atomic(0)
                    try await inner.forEachPart { part in
                        try await sink(try seal(part))
                        let completed = sent.add(part.count, ordering: .relaxed).newValue
                        report?(TransferProgress(completed: completed, total: total))
                    }
                    try await sink(try end(padding: sent.load(ordering: .relaxed) <= Self.paddedBytes ? .padme : .none))
                })
        }
    }

    private func whole(_ message: BinaryHTTPRequest) throws -> [UInt8] {
        let bytes = try message.encoded(padding: message.body.count <= Self.paddedBytes ? .padme : .none)
        return try state.withLock { state in
            guard let sealer = state.sealer.take() else { throw Self.finished }
            return try sealer.finish(bytes)
        }
    }

    private func begin(_ head: HTTPRequest) throws -> [UInt8] {
        try state.withLock { state in
            guard let bytes = try state.encoder?.head(head), let sealed = try state.sealer?.seal(bytes) else { throw Self.finished }
            return sealed
        }
    }

    private func seal(_ part: [UInt8]) throws -> [UInt8] {
        try state.withLock { state in
            guard let bytes = try state.encoder?.body(Data(part)), let sealed = try state.sealer?.seal(bytes) else { throw Self.finished }
            return sealed
        }
    }

    private func end(padding: BinaryHTTPPadding) throws -> [UInt8] {
        try state.withLock { state in
            guard let encoder = state.encoder.take(), let sealer = state.sealer.take() else { throw Self.finished }
            return try sealer.finish(try encoder.end(padding: padding))
        }
    }

    private static var finished: ApproovError { ApproovError(.obliviousError, "a sealed request can be sent once only") }
}
