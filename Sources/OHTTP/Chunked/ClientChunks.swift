import Crypto
public import Foundation

extension KeyConfiguration {
    /// Begins a request in chunks (draft-ietf-ohai-chunked-ohttp), with a fresh HPKE context.
    ///
    /// - Parameters:
    ///   - suite: one of `suites`; the first when nil.
    ///   - maximumChunkSize: the most content that one chunk of the response may have.
    /// - Returns: what seals the request, to be sent as `message/ohttp-chunked-req`, and what opens its response.
    /// - Throws: `unsupportedKeyConfiguration` when `suite` is not one of the configuration's, `encapsulationFailed`.
    public func chunkedRequest(suite: SymmetricSuite? = nil, maximumChunkSize: Int = 64 * 1024) throws(OHTTPError) -> ChunkedRequest {
        let header = try header(suite)
        let sender = try sender(header, .chunked)
        return try ChunkedRequest(header: header, sender: sender, maximumChunkSize: maximumChunkSize)
    }
}

/// A request in chunks and what opens its response; take both out, they are used side by side.
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
    /// The header, until it was returned.
    private var prefix: [UInt8]

    init(sender: HPKE.Sender, prefix: [UInt8]) {
        self.sender = sender
        self.prefix = prefix
    }

    /// Seals a part of the request.
    ///
    /// - Parameter bytes: a part of a Binary HTTP message; any number, none too.
    /// - Returns: bytes to send.
    /// - Throws: `encapsulationFailed`.
    public mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        defer { prefix = [] }
        return try Chunk.seal(bytes, prefix: prefix, isFinal: false) { try sender.seal($0, authenticating: $1) }
    }

    /// Seals the rest of the request and marks its end, without which the gateway refuses it.
    ///
    /// - Parameter bytes: the last part; may be empty.
    /// - Returns: the last bytes to send.
    /// - Throws: `encapsulationFailed`.
    public consuming func finish(_ bytes: some DataProtocol = [UInt8]()) throws(OHTTPError) -> [UInt8] {
        try Chunk.seal(bytes, prefix: prefix, isFinal: true) { try sender.seal($0, authenticating: $1) }
    }
}

/// Opens a response in chunks, as it arrives.
///
/// Append what has come and take what `next` returns until it returns nil; when the stream has ended, `finish` returns what is left.
/// Only when `finish` has succeeded is the response known to be complete.
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
    /// - Parameter bytes: content of a `message/ohttp-chunked-res` response, in any split.
    public mutating func append(_ bytes: some DataProtocol) {
        reader.append(bytes)
    }

    /// The content of the next chunk.
    ///
    /// - Returns: a part of a Binary HTTP message, or nil when more bytes are needed.
    /// - Throws: `responseRejected` when the chunk was changed, moved or belongs to another response, `malformedChunk`,
    ///   `limitExceeded` when it is larger than allowed. Nothing more is opened then.
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
    /// Call it when the stream has ended and `next` has returned nil.
    ///
    /// - Returns: the rest of the Binary HTTP message, which may be empty.
    /// - Throws: `truncatedChunks` when the stream ended too early, `responseRejected` when the final chunk was changed or more came after.
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
