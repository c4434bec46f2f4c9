/// The events in the body of a response with the media type text/event-stream.
///
/// ```swift
/// let (bytes, _) = try await session.bytes(for: request)
/// for try await event in bytes.events() { show(event.data) }
/// ```
///
/// The caller checks the response's status and media type, and decides about connecting again. An event that the body's end cuts off is
/// not returned.
public struct ServerSentEvents: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    let chunks: ApproovBytes.Chunks
    let limit: Int

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator {
        Iterator(lines: ByteLines(chunks, limit: limit), parser: EventParser(limit: limit))
    }

    /// Returns the events in order.
    public struct Iterator: AsyncIteratorProtocol {
        var lines: ByteLines
        var parser: EventParser
        private var isOver = false

        init(lines: ByteLines, parser: EventParser) {
            self.lines = lines
            self.parser = parser
        }

        /// The last ID that the server gave, also in a block without data, which is no event; empty without one.
        ///
        /// Send it as Last-Event-ID to go on later.
        public var lastEventID: String { parser.lastEventID }
        /// How long to wait before connecting again, as the server said last, also in a block without data; nil if it said nothing.
        public var retry: Duration? { parser.retry }

        /// Returns the next event, or nil at the end.
        ///
        /// - Throws: ``ApproovError`` with code `responseTooLarge` when an event is too large, and with other codes when the transfer fails;
        ///   `CancellationError` when the task is cancelled or the request wiped.
        public mutating func next() async throws -> ServerSentEvent? { try await next(isolation: nil) }

        /// Returns the next event, or nil at the end, without leaving the caller's actor.
        ///
        /// - Parameter actor: The caller's actor.
        /// - Returns: The event, or nil at the end.
        /// - Throws: ``ApproovError`` with code `responseTooLarge` when an event is too large, and with other codes when the transfer fails;
        ///   `CancellationError` when the task is cancelled or the request wiped.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            guard !isOver else { return nil }
            do {
                while let line = try await lines.next(isolation: actor), lines.isWhole {
                    if let event = try parser.take(line) { return event }
                }
            } catch {
                isOver = true
                throw error
            }
            isOver = true
            return nil
        }
    }
}

extension ApproovBytes {
    /// The body as server-sent events.
    ///
    /// - Parameter limit: The maximum number of bytes of an event, and of each of its lines together with the field's name; a larger one
    ///   throws ``ApproovError`` with code `responseTooLarge`.
    /// - Returns: The events.
    public func events(upTo limit: Int = 1 << 20) -> ServerSentEvents { ServerSentEvents(chunks: chunks, limit: limit) }
}

/// Makes events of lines (HTML standard, section 9.2.6); a value without tasks.
struct EventParser: Sendable {
    private let limit: Int
    private var isFirstLine = true
    private var event: [UInt8] = []
    private var data: [UInt8] = []
    private var id = ""
    /// The ID of the last block that has ended.
    private(set) var lastEventID = ""
    private(set) var retry: Duration?

    /// Makes a parser.
    ///
    /// - Parameter limit: The maximum number of bytes of an event.
    init(limit: Int) { self.limit = Swift.max(0, limit) }

    /// Takes the next line.
    ///
    /// - Parameter line: The line without its end.
    /// - Returns: The event that it ends; nil if it ends none.
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when the event is too large.
    mutating func take(_ line: [UInt8]) throws -> ServerSentEvent? {
        var line = line[...]
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
        }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
        case "event": event = Array(value)
        case "data":
            data += value
            data.append(0x0A)
        case "id" where !value.contains(0): id = String(decoding: value, as: UTF8.self)
        case "retry" where !value.isEmpty && value.allSatisfy { (0x30...0x39).contains($0) }:
            // A number that no clock can count is ignored.
            if let milliseconds = Int32(String(decoding: value, as: UTF8.self)) { retry = .milliseconds(milliseconds) }
        default: break
        }
        guard event.count <= limit - Swift.min(data.count, limit), data.count <= limit else {
            throw ApproovError(.responseTooLarge, "the server sent an event of more than \(limit) bytes: raise the limit")
        }
        return nil
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer { (event, data) = ([], []) }
        lastEventID = id
        guard !data.isEmpty else { return nil }
        return ServerSentEvent(
            event: event.isEmpty ? "message" : String(decoding: event, as: UTF8.self),
            data: String(decoding: data.dropLast(), as: UTF8.self), id: id, retry: retry)
    }
}
