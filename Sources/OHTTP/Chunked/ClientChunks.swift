import Crypto
public import Foundation

extension KeyConfiguration {
    /// Begins a request in chunks (draft-ietf-ohai-chunked-ohttp), with a fresh HPKE context.
    ///
    /// - Parameters:
    ///   - suite: One of `suites`; nil for the first.
    ///   - maximumChunkSize: The limit of the content of one chunk of the response, in bytes.
    /// - Returns: The sealer of the request, whose bytes are sent as `message/ohttp-chunked-req`, and the opener of its response.
    /// - Throws: ``OHTTPError`` with code `unsupportedKeyConfiguration` when the configuration does not name `suite`, or
    ///   `encapsulationFailed`.
    public func chunkedRequest(suite: SymmetricSuite? = nil, maximumChunkSize: Int = 64 * 1024) throws(OHTTPError) -> ChunkedRequest {
        let header = try header(suite)
        let sender = try sender(header, .chunked)
        return try ChunkedRequest(header: header, sender: sender, maximumChunkSize: maximumChunkSize)
    }
}

/// The sealer of a request in chunks and the opener of its response; take both out, because they are used side by side.
@frozen public struct ChunkedRequest: ~Copyable, Sendable {
    /// Seals the request.
    public let sealer: ChunkedRequestSealer
    /// Opens the response.
    public let response: ChunkedResponseOpener

    init(header: MessageHeader, sender: HPKE.Sender, maximumChunkSize: Int) throws(OHTTPError) {
        let secret: ResponseSecret
        do {
            secret = try ResponseSecret(sender, suite: header.suite, variant: .chunked)
        } catch {
            throw .encapsulationFailed(error)
        }
        sealer = ChunkedRequestSealer(sender: sender, prefix: header.bytes + sender.encapsulatedKey)
        response = ChunkedResponseOpener(secret: secret, maximumChunkSize: maximumChunkSize)
    }
}

/// Seals a request in chunks of at most 16 KiB.
public struct ChunkedRequestSealer: ~Copyable, Sendable {
    private var sender: HPKE.Sender
    /// The header, until `seal` or `finish` has returned it.
    private var prefix: [UInt8]

    init(sender: HPKE.Sender, prefix: [UInt8]) {
        self.sender = sender
        self.prefix = prefix
    }

    /// Seals a part of the request.
    ///
    /// - Parameter bytes: A part of a Binary HTTP message; may be empty.
    /// - Returns: The bytes to send.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed`.
    public mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        defer { prefix = [] }
        return try Chunk.seal(bytes, prefix: prefix, isFinal: false) { try sender.seal($0, authenticating: $1) }
    }

    /// Seals the rest of the request and marks its end, without which the gateway refuses it.
    ///
    /// - Parameter bytes: The last part; may be empty.
    /// - Returns: The last bytes to send.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed`.
    public consuming func finish(_ bytes: some DataProtocol = [UInt8]()) throws(OHTTPError) -> [UInt8] {
        try Chunk.seal(bytes, prefix: prefix, isFinal: true) { try sender.seal($0, authenticating: $1) }
    }
}

/// Opens a response in chunks while it arrives.
///
/// Append the bytes that have arrived, then call `next` until it returns nil, and repeat. After the end of the stream, `finish` returns
/// the rest. The response is complete only if `finish` succeeds.
public struct ChunkedResponseOpener: ~Copyable, Sendable {
    private let secret: ResponseSecret
    private var key: ResponseKey?
    private var reader: ChunkReader
    private var counter: UInt64 = 0
    private var hasFailed = false

    init(secret: ResponseSecret, maximumChunkSize: Int) {
        self.secret = secret
        reader = ChunkReader(maximumChunkSize: maximumChunkSize)
    }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter bytes: The content of a `message/ohttp-chunked-res` response, however it is split.
    public mutating func append(_ bytes: some DataProtocol) {
        reader.append(bytes)
    }

    /// Returns the content of the next chunk.
    ///
    /// - Returns: A part of a Binary HTTP message, or nil when more bytes are needed.
    /// - Throws: ``OHTTPError`` with code `responseRejected` when the chunk was changed, moved or belongs to another response,
    ///   `malformedChunk`, or `limitExceeded` when it is too large. After an error the response cannot be opened any further.
    public mutating func next() throws(OHTTPError) -> Data? {
        if key == nil {
            guard let nonce = reader.take(secret.nonceSize) else { return nil }
            key = secret.key(responseNonce: nonce)
        }
        guard let chunk = try reader.next() else { return nil }
        return try open(chunk, mark: [])
    }

    /// Opens the final chunk.
    ///
    /// Call it after the end of the stream, when `next` has returned nil.
    ///
    /// - Returns: The rest of the Binary HTTP message; may be empty.
    /// - Throws: ``OHTTPError`` with code `truncatedChunks` when the stream ended too early, or `responseRejected` when the final chunk was
    ///   changed or other bytes follow it.
    public consuming func finish() throws(OHTTPError) -> Data {
        try open(try reader.final(), mark: Chunk.finalMark)
    }

    private mutating func open(_ chunk: ArraySlice<UInt8>, mark: [UInt8]) throws(OHTTPError) -> Data {
        guard let key, !hasFailed else { throw .responseRejected(nil) }
        do {
            let bytes = try key.open(chunk, authenticating: mark, counter: counter)
            counter += 1
            return bytes
        } catch {
            hasFailed = true
            throw .responseRejected(error)
        }
    }
}
