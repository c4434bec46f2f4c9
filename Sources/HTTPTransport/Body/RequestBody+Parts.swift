import Foundation
import Synchronization

extension RequestBody {
    /// Whether the body is there for a second request.
    package var canBeSentAgain: Bool {
        if case .stream = self { return false }
        return true
    }

    /// Hands out the body part by part, in order; for transports that put it into something else.
    ///
    /// - Parameter sink: takes a part; the next one comes when it returns.
    /// - Throws: `TransportError` `requestBodyFailed` when a file cannot be read; what a stream or `sink` throws.
    package func forEachPart(_ sink: @Sendable ([UInt8]) async throws -> Void) async throws {
        switch self {
        case .none: break
        case .bytes(let bytes): if !bytes.isEmpty { try await sink(bytes) }
        case .file(let path): try await Self.readFile(path, sink)
        case .stream(let length, let stream): try await Self.readStream(stream, length: length, sink)
        }
    }

    private static func readFile(_ path: String, _ sink: @Sendable ([UInt8]) async throws -> Void) async throws {
        let (descriptor, size) = try CurlUpload.open(path)
        defer { close(descriptor) }
        var offset = 0
        while offset < size {
            var count = 0
            let part = [UInt8](unsafeUninitializedCapacity: min(64 << 10, size - offset)) { buffer, initialized in
                repeat { count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) } while count < 0 && errno == EINTR
                initialized = max(0, count)
            }
            guard count > 0 else {
                let reason = count < 0 ? String(cString: strerror(errno)) : "it became shorter while it was sent"
                throw TransportError(.requestBodyFailed, "the file to upload cannot be read: \(reason)")
            }
            offset += count
            try await sink(part)
        }
    }

    private static func readStream(
        _ stream: RequestBodyStream, length: Int?, _ sink: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let counter = PartCounter()
        try await stream.write { part in
            let sent = counter.add(part.count)
            guard sent <= length ?? .max else { throw wrongLength(length) }
            if !part.isEmpty { try await sink(part) }
        }
        let sent = counter.add(0)
        guard sent == length ?? sent else { throw wrongLength(length) }
    }

    private static func wrongLength(_ length: Int?) -> TransportError {
        TransportError(.requestBodyFailed, "the request's body has another length than the \(length ?? 0) bytes declared")
    }
}

/// Bytes so far, counted by the task that makes a body.
private final class PartCounter: Sendable {
    private let total = Atomic(0)

    func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}
