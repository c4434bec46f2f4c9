/// The state machine of a request's content on its way to libcurl; a value without locks or tasks.
///
/// Its methods change the state and return what the caller must do outside the lock. Of its phases, content in memory and in files needs
/// only `failed`: libcurl reads such content when it wants to.
struct CurlUploadState<Waiter: Sendable>: Sendable {
    private enum Phase: Sendable {
        /// libcurl has not asked for the content: the connection is not made or not judged yet.
        case unwanted
        /// The producing task makes the content; `isPaused` while libcurl waits for more.
        case flowing(isPaused: Bool)
        /// The producing task has made all of the content.
        case complete
        /// The content cannot be made or read.
        case failed(any Error)
        /// No more is read: the transfer is over, or the server does not want the rest.
        case ended
    }

    /// What the producing task does next.
    enum Room: Sendable {
        /// It hands over the next part.
        case free
        /// It waits; a method returns the waiter once there is room.
        case wait
        /// It ends.
        case ended
    }

    /// The producing task waits when this many bytes have not been sent yet.
    static var highWater: Int { 256 * 1024 }

    /// The declared or known length in bytes; nil when unknown.
    let length: Int?
    /// Bytes handed to libcurl so far.
    private(set) var sent = 0
    private var phase = Phase.unwanted
    private var pending = PendingBytes()
    /// The producing task, while it waits for room.
    private var room: Waiter?

    init(length: Int?) { self.length = length }

    /// Why the content cannot be made or read.
    var failure: (any Error)? { if case .failed(let error) = phase { error } else { nil } }

    /// Whether libcurl waits for the producing task.
    var isPaused: Bool { if case .flowing(isPaused: true) = phase { true } else { false } }

    /// Bytes of a streamed body that are in memory.
    var held: Int { pending.held }

    // MARK: libcurl's side

    /// Counts bytes of content in memory or in a file that libcurl has taken.
    mutating func took(_ count: Int) { sent += count }

    /// Goes back to the start of content in memory or in a file.
    mutating func rewind() { sent = 0 }

    /// Notes that content cannot be read.
    mutating func fail(_ error: any Error) { phase = .failed(error) }

    /// Fills libcurl's buffer from a streamed body.
    ///
    /// - Parameter buffer: The buffer of libcurl, which is not empty.
    /// - Returns: What to tell libcurl, and the producing task to resume.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> (read: CurlUpload.Read, resumed: Waiter?) {
        switch phase {
        case .failed: return (.fail, nil)
        // A pause, not the end: a final chunk would make half a body look complete.
        case .ended: return (.pause, nil)
        case .unwanted:
            phase = .flowing(isPaused: true)
            return (.pause, room.take())
        case .flowing, .complete: break
        }
        let count = pending.take(into: buffer)
        guard count > 0 else { return (readNothing(), nil) }
        sent += count
        return (.bytes(count), pending.count <= Self.highWater / 2 ? room.take() : nil)
    }

    private mutating func readNothing() -> CurlUpload.Read {
        guard case .complete = phase else {
            phase = .flowing(isPaused: true)
            return .pause
        }
        if let length, sent != length {
            fail(TransportError(.requestBodyFailed, "the request's body was declared as \(length) bytes but has \(sent)"))
            return .fail
        }
        return .bytes(0)
    }

    // MARK: The producing task

    /// Whether the producing task may hand over the next part now.
    var hasRoom: Bool { if case .flowing = phase { pending.count < Self.highWater } else { false } }

    /// Asks for room for the next part.
    ///
    /// - Parameter waiter: The producing task; kept when the answer is `wait`.
    /// - Returns: The answer.
    mutating func makeRoom(for waiter: Waiter) -> Room {
        switch phase {
        case .failed, .ended, .complete: return .ended
        case .flowing where hasRoom: return .free
        case .flowing, .unwanted:
            room = waiter
            return .wait
        }
    }

    /// Adds a part.
    ///
    /// - Parameter part: The next bytes of the body.
    /// - Returns: Whether libcurl must be unpaused.
    mutating func add(_ part: [UInt8]) -> Bool {
        guard case .flowing(let wasPaused) = phase else { return false }
        if let length, part.count > length - sent - pending.count {
            fail(TransportError(.requestBodyFailed, "the request's body is longer than the \(length) bytes declared"))
        } else {
            pending.append(part)
            phase = .flowing(isPaused: false)
        }
        return wasPaused
    }

    /// Notes that the producing task has ended.
    ///
    /// - Parameter error: Why it could not make the whole body; nil when it did.
    /// - Returns: Whether libcurl must be unpaused.
    mutating func producerEnded(_ error: (any Error)?) -> Bool {
        switch phase {
        case .failed, .ended, .complete: return false
        case .unwanted, .flowing:
            let wasPaused = isPaused
            phase = error.map { .failed($0) } ?? .complete
            return wasPaused
        }
    }

    // MARK: The end

    /// Whether the body is still being produced.
    var isUnfinished: Bool {
        switch phase {
        case .unwanted, .flowing: true
        case .complete, .failed, .ended: false
        }
    }

    /// Ends the content: nothing more will be read.
    ///
    /// - Returns: The producing task, if it waits for room; it must be resumed with an error.
    mutating func end() -> Waiter? {
        if failure == nil { phase = .ended }
        return room.take()
    }
}
