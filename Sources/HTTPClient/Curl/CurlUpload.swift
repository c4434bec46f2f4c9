import CLibCurl
import Foundation
import Synchronization

/// Gives libcurl the request's content: from memory, from a file, or from a task that produces it.
final class CurlUpload: Sendable {
    /// The most bytes that fit into the windows of HTTP/2 with every server.
    private static let smallBytes = 16_384

    enum Source: Sendable {
        case none
        case bytes([UInt8])
        case file(descriptor: Int32)
        case stream(RequestBodyStream)
    }

    private typealias State = CurlUploadState<CheckedContinuation<Void, any Error>>

    private struct Guarded {
        var state: State
        var producer: Task<Void, Never>?
    }

    enum Read: Equatable, Sendable {
        case bytes(Int)
        case pause
        case fail
    }

    let source: Source
    /// Whether this transfer offers content encodings that libcurl will decode.
    let offersDecoding: Bool
    private let guarded: Mutex<Guarded>
    /// The declared or known length in bytes; nil when unknown.
    let length: Int?

    init(_ body: RequestBody, offersDecoding: Bool) throws(TransportError) {
        self.offersDecoding = offersDecoding
        switch body {
        case .none: (source, length) = (.none, 0)
        case .bytes(let bytes): (source, length) = (.bytes(bytes), bytes.count)
        case .stream(let length, let stream):
            if let length, length < 0 { throw TransportError(.requestBodyFailed, "the declared length of the body is negative") }
            (source, self.length) = (.stream(stream), length)
        case .file(let path):
            let (descriptor, size) = try Self.open(path)
            (source, length) = (.file(descriptor: descriptor), size)
        }
        guarded = Mutex(Guarded(state: State(length: length)))
    }

    deinit {
        if case .file(let descriptor) = source { close(descriptor) }
    }

    /// Whether the request has content.
    var hasContent: Bool {
        if case .none = source { return false }
        return true
    }

    /// Whether the content is ready and fits into the windows of HTTP/2, so that it goes out even if the server reads none of it.
    var isSmall: Bool { canRewind && length.map { $0 <= Self.smallBytes } == true }

    /// Whether libcurl may send the content again from its start.
    var canRewind: Bool {
        if case .stream = source { return false }
        return true
    }

    /// Why the content cannot be made or read.
    var failure: (any Error)? { guarded.withLock { $0.state.failure } }

    /// Whether libcurl waits for the producing task.
    var isPaused: Bool { guarded.withLock { $0.state.isPaused } }

    /// Bytes of a streamed body that are in memory.
    var held: Int { guarded.withLock { $0.state.held } }

    /// Bytes handed to libcurl so far.
    var sent: Int { guarded.withLock { $0.state.sent } }

    // MARK: libcurl's side, on the thread that runs the loop

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        switch source {
        case .none: return .bytes(0)
        case .bytes(let bytes):
            return guarded.withLock { guarded in
                let sent = guarded.state.sent
                let count = min(buffer.count, bytes.count - sent)
                bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
                guarded.state.took(count)
                return .bytes(count)
            }
        case .file(let descriptor): return readFile(descriptor, into: buffer)
        case .stream:
            let (read, room) = guarded.withLock { $0.state.read(into: buffer) }
            room?.resume()
            return read
        }
    }

    private func readFile(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Read {
        guarded.withLock { guarded in
            let sent = guarded.state.sent
            let wanted = min(buffer.count, (length ?? 0) - sent)
            guard wanted > 0 else { return .bytes(0) }
            do throws(TransportError) {
                let count = try Self.read(descriptor, at: sent, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
                guarded.state.took(count)
                return .bytes(count)
            } catch {
                guarded.state.fail(error)
                return .fail
            }
        }
    }

    /// Reads the next bytes of a file to upload.
    ///
    /// - Returns: The number of bytes read, at least one.
    /// - Throws: ``TransportError`` with code `requestBodyFailed` when the file cannot be read, or has become shorter.
    static func read(_ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TransportError) -> Int {
        var count = 0
        repeat { count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) } while count < 0 && errno == EINTR
        guard count > 0 else {
            let reason = count < 0 ? String(cString: strerror(errno)) : "it became shorter while it was sent"
            throw TransportError(.requestBodyFailed, "the file to upload cannot be read: \(reason)")
        }
        return count
    }

    /// Goes back to the start, because libcurl must send the content again; false for a stream.
    func rewind() -> Bool {
        guard canRewind else { return false }
        guarded.withLock { $0.state.rewind() }
        return true
    }

    // MARK: The producing task

    /// Starts the task that produces a streamed body; it calls `unpause` when libcurl is paused and there is more to send.
    func startProducing(unpause: @escaping @Sendable () -> Void) {
        guard case .stream(let stream) = source else { return }
        let task = Task {
            do {
                // Waits until the connection is made and judged: a refused request leaves its stream unread.
                try await self.makeRoom()
                try await stream.write { part in
                    try await self.makeRoom()
                    if self.guarded.withLock({ $0.state.add(part) }) { unpause() }
                }
                if self.guarded.withLock({ $0.state.producerEnded(nil) }) { unpause() }
            } catch {
                let failure = TransportError(.requestBodyFailed, "the request's body could not be produced; see the cause", cause: error)
                if self.guarded.withLock({ $0.state.producerEnded(failure) }) { unpause() }
            }
        }
        let isUnfinished = guarded.withLock { guarded in
            guarded.producer = task
            return guarded.state.isUnfinished
        }
        if !isUnfinished { task.cancel() }
    }

    private func makeRoom() async throws {
        // The common case costs no continuation.
        guard !guarded.withLock({ $0.state.hasRoom }) else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                switch guarded.withLock({ $0.state.makeRoom(for: waiter) }) {
                case .free: waiter.resume()
                case .ended: waiter.resume(throwing: CancellationError())
                case .wait: break
                }
            }
        } onCancel: {
            end()
        }
    }

    /// Ends a streamed body that is still being produced, because the server has already answered.
    ///
    /// - Returns: True if it was still being produced; nothing more will be read, and libcurl may wait for it.
    func endIfUnfinished() -> Bool {
        guard case .stream = source, guarded.withLock({ $0.state.isUnfinished }) else { return false }
        end()
        return true
    }

    /// Ends the content: nothing more will be read, and the producing task is cancelled.
    func end() {
        let (room, producer) = guarded.withLock { guarded in (guarded.state.end(), guarded.producer.take()) }
        room?.resume(throwing: CancellationError())
        producer?.cancel()
    }

    /// Opens a regular file.
    ///
    /// - Returns: The descriptor, which the caller must close, and the size in bytes.
    /// - Throws: ``TransportError`` with code `requestBodyFailed` when the file cannot be opened or is not a regular file.
    static func open(_ path: String) throws(TransportError) -> (Int32, Int) {
        // Non-blocking, because a FIFO without a writer would hang the caller; the FIFO is refused below.
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TransportError(.requestBodyFailed, "\(path) cannot be read for upload: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw TransportError(.requestBodyFailed, "\(path) is not a regular file; stream its content instead")
        }
        return (descriptor, Int(status.st_size))
    }
}
