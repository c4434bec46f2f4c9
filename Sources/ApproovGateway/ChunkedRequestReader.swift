internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import OHTTP
internal import Synchronization

/// Opens a request in chunks and takes it apart as it comes, for one reader at a time: the handler until it has the head, then the
/// transfer that sends the content on.
final class ChunkedRequestReader: Sendable {
    /// A chunk of the request is larger than a gateway takes.
    struct ChunkTooLarge: Error {}

    /// The most content that one chunk of a request may have, in bytes.
    static let chunkBytes = 64 * 1024

    /// What our clients' question whether a gateway understands chunks begins with: no framing indicator (RFC 9292 section 3.3).
    private static let question: UInt8 = 0x3f

    fileprivate struct State: ~Copyable {
        var opener: ChunkedRequestOpener
        /// What the first byte is that was opened.
        var firstByte: UInt8?
        var parser: BinaryHTTPRequestParser
        var isRead = false
        /// An event that was looked at and not taken.
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

    /// The request's `enc` and the key that it was sealed to; nil before a first chunk was opened.
    var identity: (encapsulatedKey: [UInt8], keyID: UInt8)? {
        state.withLock { state in
            guard let key = state.opener.encapsulatedKey, let id = state.opener.keyID else { return nil }
            return (key, id)
        }
    }

    /// The identifier of the key that the request names, when the gateway has no such key.
    var unknownKeyID: UInt8? { state.withLock { $0.opener.unknownKeyID } }

    /// Whether it is no request but the question whether chunks are understood, which any answer inside of encapsulation affirms.
    var isQuestion: Bool { state.withLock { $0.firstByte == Self.question } }

    /// What seals the response, once; nil before a first chunk was opened.
    func takeResponse() -> ChunkedResponseSealer? {
        state.withLock { $0.opener.takeResponse() }
    }

    /// The next event.
    /// - Throws: `ChunkTooLarge`, `OHTTPError`, or what `BorrowedRequestBody` does
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

    /// Waits until it is known whether there is content.
    /// - Returns: whether there is none
    /// - Throws: as `next`
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

    /// The content, from here on.
    /// - Parameter holdsLast: whether the last part waits for the end that is verified
    /// - Returns: the parts
    func content(holdsLast: Bool) -> Content { Content(reader: self, holdsLast: holdsLast) }

    /// The parts of a request's content.
    ///
    /// Its end is the request's: what is cut short or was changed on its way ends with an error, so that the origin sees no whole request.
    struct Content: AsyncSequence, Sendable {
        typealias Element = [UInt8]

        let reader: ChunkedRequestReader
        let holdsLast: Bool

        func makeAsyncIterator() -> Iterator { Iterator(reader: reader, holdsLast: holdsLast) }

        struct Iterator: AsyncIteratorProtocol {
            let reader: ChunkedRequestReader
            /// Whether the last part waits for the end that is verified.
            ///
            /// An origin that knows the length would take a request that was cut short for whole. Without a length there is no such mistake,
            /// and parts go on as they come.
            let holdsLast: Bool
            var held: [UInt8]?

            mutating func next() async throws -> [UInt8]? {
                while let event = try await reader.next() {
                    switch event {
                    case .body(let bytes):
                        guard holdsLast else { return [UInt8](bytes) }
                        defer { held = [UInt8](bytes) }
                        if let held { return held }
                    // Trailers are not forwarded: the transport has no place for them.
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
    /// The next event of what is there; nil when there is none.
    fileprivate mutating func next() throws -> BinaryHTTPRequestParser.Event? {
        if let event = pending.take() { return event }
        while true {
            if let event = try parser.next() { return event }
            guard !isRead, let bytes = try open() else { return nil }
            try parse(bytes)
        }
    }

    /// The content of the next chunk.
    private mutating func open() throws -> Data? {
        do {
            return try opener.next()
        } catch  where error.code == .limitExceeded {
            // Told apart from the limits of the parser: the message inside may be of any size.
            throw ChunkedRequestReader.ChunkTooLarge()
        }
    }

    /// The stream has ended.
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
