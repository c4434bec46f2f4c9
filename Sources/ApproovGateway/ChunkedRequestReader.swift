internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import OHTTP
internal import Synchronization

/// Opens a chunked request and parses it as it arrives.
///
/// Only one reader may use it at a time: first the handler, until it has the head, then the transfer that forwards the content.
final class ChunkedRequestReader: Sendable {
    /// A chunk of the request exceeds the gateway's limit.
    struct ChunkTooLarge: Error {}

    /// The maximum content of one chunk of a request, in bytes.
    static let chunkBytes = 64 * 1024

    /// The first byte of the probe by which our clients ask for chunk support: an undefined framing indicator (RFC 9292, section 3.3).
    private static let question: UInt8 = 0x3f

    fileprivate struct State: ~Copyable {
        var opener: ChunkedRequestOpener
        /// The first byte of the opened content.
        var firstByte: UInt8?
        var parser: BinaryHTTPRequestParser
        var isRead = false
        /// An event that was read ahead and not yet delivered.
        var pending: BinaryHTTPRequestParser.Event?
    }

    private let body: BorrowedRequestBody
    private let state: Mutex<State>

    init(_ body: BorrowedRequestBody, keyring: GatewayKeyring, limits: GatewayConfiguration.Limits) {
        self.body = body
        state = Mutex(
            State(
                opener: keyring.chunkedRequestOpener(maximumChunkSize: Self.chunkBytes),
                parser: BinaryHTTPRequestParser(limits: BinaryHTTPLimits(fieldSectionBytes: limits.fieldSectionBytes))))
    }

    /// The request's `enc` and the identifier of the key that it was sealed to; nil until the first chunk is opened.
    var identity: (encapsulatedKey: [UInt8], keyID: UInt8)? {
        state.withLock { state in
            guard let key = state.opener.encapsulatedKey, let id = state.opener.keyID else { return nil }
            return (key, id)
        }
    }

    /// The key identifier that the request names, if the gateway has no such key.
    var unknownKeyID: UInt8? { state.withLock { $0.opener.unknownKeyID } }

    /// Whether the message is a probe for chunk support, not a request; any encapsulated answer confirms the support.
    var isQuestion: Bool { state.withLock { $0.firstByte == Self.question } }

    /// Returns the sealer for the response, once; nil until the first chunk is opened.
    func takeResponse() -> ChunkedResponseSealer? {
        state.withLock { $0.opener.takeResponse() }
    }

    /// The next event; nil after the end.
    /// - Throws: `ChunkTooLarge`, `OHTTPError`, or any error of `BorrowedRequestBody`.
    func next() async throws -> BinaryHTTPRequestParser.Event? {
        while true {
            if let event = try state.withLock({ try $0.next() }) { return event }
            guard !state.withLock({ $0.isRead }) else { return nil }
            if let part = try await body.next() {
                state.withLock { $0.opener.append(part) }
            } else {
                try state.withLock { try $0.finish() }
            }
        }
    }

    /// Waits until it is known whether the request has content.
    /// - Returns: True if it has none.
    /// - Throws: The errors of `next()`.
    func isAtContentEnd() async throws -> Bool {
        while let event = try await next() {
            switch event {
            case .head, .trailers: continue
            case .end: return true
            case .body:
                state.withLock { $0.pending = event }
                return false
            }
        }
        return true
    }

    /// The rest of the content.
    /// - Parameter holdsLast: Whether the last part waits until the end of the request is verified.
    /// - Returns: The parts.
    func content(holdsLast: Bool) -> Content { Content(reader: self, holdsLast: holdsLast) }

    /// The parts of a request's content.
    ///
    /// It ends normally only when the whole request was received and verified. A truncated or modified request ends with an error, so the
    /// origin never sees it as complete.
    struct Content: AsyncSequence, Sendable {
        typealias Element = [UInt8]

        let reader: ChunkedRequestReader
        let holdsLast: Bool

        func makeAsyncIterator() -> Iterator { Iterator(reader: reader, holdsLast: holdsLast) }

        struct Iterator: AsyncIteratorProtocol {
            let reader: ChunkedRequestReader
            /// Whether the last part waits until the end of the request is verified.
            ///
            /// If the origin knows the length, it would take a truncated request for a complete one as soon as all bytes have arrived.
            /// Without a length that cannot happen, so parts are passed on at once.
            let holdsLast: Bool
            var held: [UInt8]?

            mutating func next() async throws -> [UInt8]? {
                while let event = try await reader.next() {
                    switch event {
                    case .body(let bytes):
                        guard holdsLast else { return [UInt8](bytes) }
                        defer { held = [UInt8](bytes) }
                        if let held { return held }
                    // Trailers are not forwarded: the transport cannot send them.
                    case .head, .trailers: continue
                    case .end: return held.take()
                    }
                }
                return held.take()
            }
        }
    }
}

extension ChunkedRequestReader.State {
    /// The next event in the received data; nil when more data is needed.
    fileprivate mutating func next() throws -> BinaryHTTPRequestParser.Event? {
        if let event = pending.take() { return event }
        while true {
            if let event = try parser.next() { return event }
            guard !isRead, let bytes = try open() else { return nil }
            try parse(bytes)
        }
    }

    /// Opens the next chunk and returns its content.
    private mutating func open() throws -> Data? {
        do {
            return try opener.next()
        } catch  where error.code == .limitExceeded {
            // Not a parser limit: only the chunk is too large; the whole message may have any size.
            throw ChunkedRequestReader.ChunkTooLarge()
        }
    }

    /// Handles the end of the stream.
    fileprivate mutating func finish() throws {
        isRead = true
        try parse(try opener.finish())
        parser.finish()
    }

    private mutating func parse(_ bytes: Data) throws {
        if firstByte == nil { firstByte = bytes.first }
        try parser.append(bytes)
    }
}
