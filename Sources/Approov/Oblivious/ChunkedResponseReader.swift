import Foundation
import HTTPClient
import HTTPTypes
import OHTTP

/// Opens a response part by part, as it arrives (draft-ietf-ohai-chunked-ohttp).
actor ChunkedResponseReader {
    private let outer: ResponseBody.Iterator
    private let options: TransferOptions
    private let limit: Int?
    /// Nil after the end of the stream.
    private var opener: ChunkedResponseOpener?
    private var parser: BinaryHTTPResponseParser
    private var received = 0
    /// The number of bytes of the message so far, with its padding.
    private var messageBytes = 0
    private let maximumMessageBytes: Int
    /// The number of bytes that the host's Content-Length states.
    private var expected: Int?
    private var failure: (any Error)?
    private var isReading = false

    init(_ opener: consuming ChunkedResponseOpener, body: ResponseBody, options: TransferOptions) {
        self.opener = consume opener
        outer = body.makeAsyncIterator()
        self.options = options
        limit = options.maximumBodyBytes
        maximumMessageBytes = options.maximumBodyBytes.map(Self.maximumMessageBytes(forBody:)) ?? .max
        parser = BinaryHTTPResponseParser(
            limits: BinaryHTTPLimits(fieldSectionBytes: options.maximumHeaderBytes, bodyBytes: options.maximumBodyBytes ?? .max))
    }

    /// Reads the head of the response; call it before ``part()``.
    ///
    /// - Throws: ``ApproovError`` with code `obliviousError` when the response cannot be opened, or `responseTooLarge` when it exceeds a
    ///   limit; any error of the transport.
    func head() async throws -> HTTPResponse {
        while let event = try await next() {
            guard case .head(let head) = event else { continue }
            expected = head.headerFields[.contentLength].flatMap { Int($0) }
            return head
        }
        throw ApproovError(.obliviousError, "the gateway's response is empty")
    }

    /// Reads the next part of the body, at least one byte; nil when the response is complete.
    ///
    /// - Throws: ``ApproovError`` with code `obliviousError` when the response cannot be opened, or `responseTooLarge` when it exceeds a
    ///   limit; any error of the transport.
    func part() async throws -> [UInt8]? {
        while let event = try await next() {
            guard case .body(let bytes) = event else { continue }
            received += bytes.count
            options.onDownload?(TransferProgress(completed: received, total: expected))
            return [UInt8](bytes)
        }
        return nil
    }

    private func next() async throws -> BinaryHTTPResponseParser.Event? {
        // Two tasks that read one body are a mistake of the caller. Fail, because the order of their parts would be random.
        guard !isReading else { throw ApproovError(.obliviousError, "two tasks read the response's body at once: read it in one task") }
        isReading = true
        defer { isReading = false }
        // Repeat the failure on every later call, so that a truncated response never looks complete.
        if let failure { throw failure }
        do {
            return try await nextEvent()
        } catch {
            failure = error
            throw error
        }
    }

    private func nextEvent() async throws -> BinaryHTTPResponseParser.Event? {
        do {
            while true {
                if let event = try parser.next() { return event }
                guard opener != nil else { return nil }
                if let opened = try nextChunk() {
                    try append(opened)
                    continue
                }
                var outer = outer
                if let bytes = try await outer.next() {
                    opener?.append(bytes)
                } else if let opener = opener.take() {
                    try append(try opener.finish())
                    parser.finish()
                }
            }
        } catch let error as OHTTPError {
            if error.code == .limitExceeded {
                throw ObliviousChannel.tooLarge(limit, error)
            }
            throw ApproovError(.obliviousError, "the gateway's response cannot be opened", cause: error)
        }
    }

    private func nextChunk() throws -> Data? {
        do {
            return try opener?.next()
        } catch  where error.code == .limitExceeded {
            throw ApproovError(
                .obliviousError, "the gateway's chunks are larger than this client accepts; report it to its operator", cause: error)
        }
    }

    /// The maximum size in bytes of the opened message, with its padding, if its body may have `limit` bytes.
    ///
    /// The parser bounds the padding and the head. A body whose length is not known comes in parts, each of at least one byte and with its
    /// own length before it.
    static func maximumMessageBytes(forBody limit: Int) -> Int {
        let room = Int.max - ObliviousChannel.headAllowance
        return limit <= room / 2 ? 2 * limit + ObliviousChannel.headAllowance : .max
    }

    /// Passes on the content of a chunk.
    ///
    /// Only the content counts: because no chunk but the last is empty, it also bounds what the chunks add.
    private func append(_ opened: Data) throws {
        messageBytes += opened.count
        guard messageBytes <= maximumMessageBytes else {
            throw OHTTPError(.limitExceeded, "the message has more than \(maximumMessageBytes) bytes with its padding")
        }
        try parser.append(opened)
    }
}

/// The body of a chunked response as a sequence of parts.
struct ChunkedResponseBody: AsyncSequence, Sendable {
    let reader: ChunkedResponseReader

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    struct Iterator: AsyncIteratorProtocol {
        let reader: ChunkedResponseReader

        func next() async throws -> [UInt8]? { try await reader.part() }
    }
}
