import Foundation
import Synchronization

extension RequestBody {
    /// Whether the body is there as a whole for a request, be it the second: a stream until somebody has begun to read it.
    package var canBeSentAgain: Bool {
        if case .stream(_, let stream) = self { return !stream.hasBegun }
        return true
    }

    /// The body's length in bytes; nil for a stream that does not say.
    ///
    /// - Throws: `TransportError` `requestBodyFailed` for a file that cannot be read.
    package var length: Int? {
        get throws {
            switch self {
            case .none: return 0
            case .bytes(let bytes): return bytes.count
            case .stream(let length, _): return length
            case .file(let path):
                let (descriptor, size) = try CurlUpload.open(path)
                close(descriptor)
                return size
            }
        }
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

    /// Hands out the body part by part, in order, to a sink that holds bytes back, and tells it when a stream pauses.
    ///
    /// - Parameters:
    ///   - pause: how long bytes may be held.
    ///   - holding: what is held already.
    ///   - use: takes a part or a pause, and returns which bytes are held from then on; see `BodyPause`.
    /// - Throws: as the other.
    package func forEachPart(
        _ pause: BodyPause, holding: Int?, _ use: @Sendable (BodyPause.Event) async throws -> Int?
    ) async throws {
        guard case .stream(let length, let stream) = self, let next = try stream.read?() else {
            // What is in memory or in a file does not pause.
            return try await forEachPart { _ = try await use(.part($0)) }
        }
        let counter = PartCounter()
        let counted: @Sendable () async throws -> [UInt8]? = {
            let part = try await next()
            let sent = counter.add(part?.count ?? 0)
            guard part == nil ? sent == length ?? sent : sent <= length ?? .max else { throw Self.wrongLength(length) }
            return part
        }
        try await pause.forEach(counted, holding: holding, use)
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
