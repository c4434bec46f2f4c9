import Foundation
package import HTTPTypes
import Synchronization

extension RequestBody {
    /// Whether a request, even a second one, can send the whole body; true for a stream until reading has begun.
    package var canBeSentAgain: Bool {
        if case .stream(_, let stream) = self { return !stream.hasBegun }
        return true
    }

    /// The body's length in bytes; nil for a stream of unknown length.
    ///
    /// - Throws: ``TransportError`` with code `requestBodyFailed` for a file that cannot be opened.
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

    /// The value of the field Content-Length that the transport sends with this body (RFC 9110, section 8.6); nil if it sends none.
    ///
    /// - Parameter method: The request's method.
    /// - Returns: The length in bytes; nil without content, unless the method gives content a meaning, and for a stream of unknown length.
    /// - Throws: ``TransportError`` with code `requestBodyFailed` for a file that cannot be opened.
    package func contentLength(for method: HTTPRequest.Method) throws -> Int? {
        if case .none = self { return Self.givesContentMeaning(method) ? 0 : nil }
        return try length
    }

    /// Whether a request with this method must say that it has no content.
    static func givesContentMeaning(_ method: HTTPRequest.Method) -> Bool { method == .post || method == .put || method == .patch }

    /// Hands out the body part by part, in order, for transports that embed it in another message.
    ///
    /// - Parameter sink: Takes a part; the next part follows when it returns.
    /// - Throws: ``TransportError`` with code `requestBodyFailed` when a file cannot be read, a stream was read before, or its length
    ///   differs from the declared one; what a stream or `sink` throws.
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
    ///   - pause: How long bytes may be held.
    ///   - holding: The bytes held at the start, in the form that `use` returns.
    ///   - use: Takes a part or a pause, and returns a number for the bytes held from then on; see `BodyPause`.
    /// - Throws: What `forEachPart(_:)` throws; `CancellationError` when the task is cancelled.
    package func forEachPart(
        _ pause: BodyPause, holding: Int?, _ use: @Sendable (BodyPause.Event) async throws -> Int?
    ) async throws {
        guard case .stream(let length, let stream) = self, let next = try stream.read?() else {
            // Bodies in memory or in a file, and streams that can only be written, have no pauses.
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
            let part = try [UInt8](unsafeUninitializedCapacity: min(64 << 10, size - offset)) { buffer, initialized in
                initialized = try CurlUpload.read(descriptor, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            }
            offset += part.count
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
        TransportError(.requestBodyFailed, "the request's body does not have the declared length of \(length ?? 0) bytes")
    }
}

/// Counts the bytes of a body so far; used by the one task that produces it.
private final class PartCounter: Sendable {
    private let total = Atomic(0)

    func add(_ count: Int) -> Int { total.add(count, ordering: .relaxed).newValue }
}
