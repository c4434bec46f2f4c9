import CLibCurl
import Foundation
import Synchronization

/// Gives libcurl the request's content: from memory, from a file, or from a task that produces it.
final class CurlUpload: Sendable {
    enum Source: Sendable {
        case none
        case bytes([UInt8])
        case file(descriptor: Int32)
        case stream(RequestBodyStream)
    }

    /// The producing task waits when this many bytes have not been sent yet.
    static let highWater = 256 * 1024

    private struct State {
        var offset = 0
        var waiting: [UInt8] = []
        var waitingOffset = 0
        var isWanted = false
        var isProducerDone = false
        var isEnded = false
        var isPaused = false
        var producer: Task<Void, Never>?
        var room: CheckedContinuation<Void, any Error>?
        var failure: (any Error)?
    }

    enum Read {
        case bytes(Int)
        case pause
        case fail
    }

    let source: Source
    /// The declared or known length in bytes; nil when unknown.
    let length: Int?
    /// Whether this transfer offers content encodings that libcurl will decode.
    let offersDecoding: Bool
    private let state = Mutex(State())

    init(_ body: RequestBody, offersDecoding: Bool) throws(TransportError) {
        self.offersDecoding = offersDecoding
        switch body {
        case .none: (source, length) = (.none, 0)
        case .bytes(let bytes): (source, length) = (.bytes(bytes), bytes.count)
        case .stream(let length, let stream):
            if let length, length < 0 { throw TransportError(.requestBodyFailed, "a body's length cannot be negative") }
            (source, self.length) = (.stream(stream), length)
        case .file(let path):
            let (descriptor, size) = try Self.open(path)
            (source, length) = (.file(descriptor: descriptor), size)
        }
    }

    deinit {
        if case .file(let descriptor) = source { close(descriptor) }
    }

    /// Whether libcurl may send the content again from its start.
    var canRewind: Bool {
        if case .stream = source { return false }
        return true
    }

    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Bytes of a streamed body that are in memory.
    var held: Int { state.withLock { $0.waiting.count } }

    /// Bytes handed to libcurl so far.
    var sent: Int { state.withLock { $0.offset } }

    // MARK: libcurl's side, on the driver's thread

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        switch source {
        case .none: return .bytes(0)
        case .bytes(let bytes):
            return state.withLock { state in
                let count = min(buffer.count, bytes.count - state.offset)
                bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.offset..<state.offset + count])) }
                state.offset += count
                return .bytes(count)
            }
        case .file(let descriptor): return readFile(descriptor, into: buffer)
        case .stream: return readStream(into: buffer)
        }
    }

    private func readFile(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Read {
        state.withLock { state in
            let wanted = min(buffer.count, (length ?? 0) - state.offset)
            guard wanted > 0 else { return .bytes(0) }
            var count = pread(descriptor, buffer.baseAddress, wanted, off_t(state.offset))
            while count < 0, errno == EINTR { count = pread(descriptor, buffer.baseAddress, wanted, off_t(state.offset)) }
            guard count > 0 else {
                let reason = count < 0 ? String(cString: strerror(errno)) : "it became shorter while it was sent"
                state.failure = TransportError(.requestBodyFailed, "the file to upload cannot be read: \(reason)")
                return .fail
            }
            state.offset += count
            return .bytes(count)
        }
    }

    private func readStream(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        let (read, room) = state.withLock { state -> (Read, CheckedContinuation<Void, any Error>?) in
            if state.failure != nil { return (.fail, nil) }
            // A pause, not the end: a final chunk would make half a body look complete.
            if state.isEnded { return (.pause, nil) }
            let isFirst = !state.isWanted
            state.isWanted = true
            let count = min(buffer.count, state.waiting.count - state.waitingOffset)
            guard count > 0 else {
                if state.isProducerDone { return (Self.endOfStream(&state, length), nil) }
                state.isPaused = true
                guard isFirst else { return (.pause, nil) }
                defer { state.room = nil }
                return (.pause, state.room)
            }
            state.waiting.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.waitingOffset..<state.waitingOffset + count]))
            }
            state.waitingOffset += count
            state.offset += count
            if state.waitingOffset == state.waiting.count {
                state.waiting.removeAll(keepingCapacity: true)
                state.waitingOffset = 0
            }
            guard state.waiting.count - state.waitingOffset <= Self.highWater / 2 else { return (.bytes(count), nil) }
            defer { state.room = nil }
            return (.bytes(count), state.room)
        }
        room?.resume()
        return read
    }

    private static func endOfStream(_ state: inout State, _ length: Int?) -> Read {
        if let length, state.offset != length {
            state.failure = TransportError(
                .requestBodyFailed, "the request's body was declared as \(length) bytes and ended after \(state.offset)")
            return .fail
        }
        return .bytes(0)
    }

    /// Goes back to the start, because libcurl must send the content again; false for a stream.
    func rewind() -> Bool {
        guard canRewind else { return false }
        state.withLock { $0.offset = 0 }
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
                    if self.add(part) { unpause() }
                }
                if self.producerIsDone(nil) { unpause() }
            } catch {
                let failure = TransportError(.requestBodyFailed, "the request's body could not be made", cause: error)
                if self.producerIsDone(failure) { unpause() }
            }
        }
        let isEnded = state.withLock { state in
            state.producer = task
            return state.isEnded
        }
        if isEnded { task.cancel() }
    }

    private func makeRoom() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                let goOn = state.withLock { state -> Result<Void, any Error>? in
                    if state.isEnded { return .failure(CancellationError()) }
                    if state.isWanted, state.waiting.count - state.waitingOffset < Self.highWater { return .success(()) }
                    state.room = waiter
                    return nil
                }
                if let goOn { waiter.resume(with: goOn) }
            }
        } onCancel: {
            end()
        }
    }

    /// Adds a part to what waits to be sent; true when libcurl is paused because nothing waited.
    private func add(_ part: [UInt8]) -> Bool {
        state.withLock { state in
            if let length, part.count > length - state.offset - (state.waiting.count - state.waitingOffset) {
                state.failure = TransportError(.requestBodyFailed, "the request's body is longer than the \(length) bytes declared")
            } else {
                if state.waitingOffset >= Self.highWater {
                    // A producer that is always ahead never lets the buffer run empty, so the sent bytes are dropped here.
                    state.waiting.removeFirst(state.waitingOffset)
                    state.waitingOffset = 0
                }
                if state.waiting.isEmpty { state.waiting = part } else { state.waiting += part }
            }
            defer { state.isPaused = false }
            return state.isPaused
        }
    }

    private func producerIsDone(_ failure: TransportError?) -> Bool {
        state.withLock { state in
            state.isProducerDone = true
            if state.failure == nil, !state.isEnded { state.failure = failure }
            defer { state.isPaused = false }
            return state.isPaused
        }
    }

    /// Whether libcurl waits for the producing task.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Ends a streamed body that is still being produced, because the server has already answered.
    ///
    /// - Returns: True if it was still being produced; nothing more will be read, and libcurl may wait for it.
    func endIfUnfinished() -> Bool {
        guard case .stream = source, state.withLock({ !$0.isProducerDone }) else { return false }
        end()
        return true
    }

    /// Ends the content: nothing more will be read, and the producing task is cancelled.
    func end() {
        let (room, producer) = state.withLock { state in
            state.isEnded = true
            state.isPaused = false
            defer { (state.room, state.producer) = (nil, nil) }
            return (state.room, state.producer)
        }
        room?.resume(throwing: CancellationError())
        producer?.cancel()
    }

    /// Opens a regular file.
    ///
    /// - Returns: The descriptor, which the caller must close, and the size in bytes.
    /// - Throws: ``TransportError`` with code `requestBodyFailed` when the file cannot be opened or is not a regular file.
    static func open(_ path: String) throws(TransportError) -> (Int32, Int) {
        // Non-blocking: a FIFO without a writer must not hang the caller; it is refused below.
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
