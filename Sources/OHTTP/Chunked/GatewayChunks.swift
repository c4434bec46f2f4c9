import Crypto
public import Foundation

extension GatewayKeyring {
    /// Begins to open a request in chunks (draft-ietf-ohai-chunked-ohttp).
    ///
    /// - Parameter maximumChunkSize: the most content that one chunk may have; no less than 16 KiB, which a gateway must accept.
    /// - Returns: what opens the content of one `message/ohttp-chunked-req` request.
    public func chunkedRequestOpener(maximumChunkSize: Int = 64 * 1024) -> ChunkedRequestOpener {
        ChunkedRequestOpener(keyring: self, maximumChunkSize: max(maximumChunkSize, Chunk.size))
    }
}

/// Opens a request in chunks, as it arrives.
///
/// Append what has come and take what `next` returns until it returns nil; when the stream has ended, `finish` returns what is left.
/// Only when `finish` has succeeded is the request known to be complete.
public struct ChunkedRequestOpener: ~Copyable, Sendable {
    private enum State: Sendable {
        case header
        case encapsulatedKey(MessageHeader)
        /// `isAccepted` says whether the header named a key and suite that may be used.
        case chunks(HPKE.Recipient, isAccepted: Bool)
        /// Nothing more is opened.
        case ended
    }

    private let keyring: GatewayKeyring
    private var reader: ChunkReader
    private var state = State.header
    private var pendingSecret: ResponseSecret?
    private var pendingKey: (id: UInt8, encapsulatedKey: [UInt8])?
    private var isOpen = false

    /// The identifier in the header, when the keyring has no key with it; nil for one that it has, and before the header is there.
    package private(set) var unknownKeyID: UInt8?

    init(keyring: GatewayKeyring, maximumChunkSize: Int) {
        self.keyring = keyring
        reader = ChunkReader(maximumChunkSize: maximumChunkSize)
    }

    /// The encapsulated key, `enc`, which a replay window remembers; nil until a first chunk was opened.
    public var encapsulatedKey: [UInt8]? { isOpen ? pendingKey?.encapsulatedKey : nil }

    /// The key that the request was sealed to; nil until a first chunk was opened.
    public var keyID: UInt8? { isOpen ? pendingKey?.id : nil }

    /// What seals the response.
    ///
    /// - Returns: the sealer, once; nil before a first chunk was opened, and when it was taken already.
    public mutating func takeResponse() -> ChunkedResponseSealer? {
        guard let secret = takeSecret() else { return nil }
        return ChunkedResponseSealer(secret: secret)
    }

    mutating func takeSecret() -> ResponseSecret? {
        isOpen ? pendingSecret.take() : nil
    }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter bytes: content of the request, in any split.
    public mutating func append(_ bytes: some DataProtocol) {
        reader.append(bytes)
    }

    /// The content of the next chunk.
    ///
    /// - Returns: a part of a Binary HTTP message, or nil when more bytes are needed.
    /// - Throws: `limitExceeded` for a chunk that is larger than allowed, whose length anybody on the way can read; `decapsulationFailed`
    ///   for every other cause, and each time it is called after a failure.
    public mutating func next() throws(OHTTPError) -> Data? {
        do {
            guard try readHeader(), let chunk = try reader.next() else { return nil }
            return try open(chunk, mark: [])
        } catch let error as OHTTPError where error.code == .limitExceeded {
            state = .ended
            throw error
        } catch {
            state = .ended
            throw .decapsulationFailed
        }
    }

    /// Opens the final chunk.
    ///
    /// Call it when the stream has ended and `next` has returned nil.
    ///
    /// - Returns: the rest of the Binary HTTP message, which may be empty.
    /// - Throws: `decapsulationFailed`, when the stream ended too early as well.
    public mutating func finish() throws(OHTTPError) -> Data {
        do {
            let bytes = try open(try reader.final(), mark: Chunk.finalMark)
            state = .ended
            return bytes
        } catch {
            state = .ended
            throw .decapsulationFailed
        }
    }

    /// Whether the header is complete and a context made of it.
    private mutating func readHeader() throws -> Bool {
        if case .ended = state { throw OHTTPError.decapsulationFailed }
        if case .header = state {
            guard let bytes = reader.take(MessageHeader.size) else { return false }
            guard let header = MessageHeader(bytes) else { throw OHTTPError.decapsulationFailed }
            if keyring.key(named: header) == nil { unknownKeyID = header.keyID }
            state = .encapsulatedKey(header)
        }
        if case .encapsulatedKey(let header) = state {
            guard let bytes = reader.take(header.kem.encapsulatedKeySize) else { return false }
            let encapsulatedKey = Data(bytes)
            let (recipient, isAccepted) = try keyring.recipient(header, encapsulatedKey, .chunked)
            pendingSecret = try ResponseSecret(recipient, encapsulatedKey: encapsulatedKey, suite: header.suite, variant: .chunked)
            pendingKey = (header.keyID, [UInt8](encapsulatedKey))
            state = .chunks(recipient, isAccepted: isAccepted)
        }
        return true
    }

    private mutating func open(_ chunk: ArraySlice<UInt8>, mark: [UInt8]) throws -> Data {
        guard case .chunks(var recipient, let isAccepted) = state else { throw OHTTPError.decapsulationFailed }
        let bytes = try recipient.open(chunk, authenticating: mark)
        guard isAccepted else { throw OHTTPError.decapsulationFailed }
        state = .chunks(recipient, isAccepted: true)
        isOpen = true
        return bytes
    }
}

/// Seals a response in chunks of at most 16 KiB.
public struct ChunkedResponseSealer: ~Copyable, Sendable {
    private let key: ResponseKey
    private var counter: UInt64 = 0
    /// The response nonce, until it was returned.
    private var prefix: [UInt8]

    init(secret: ResponseSecret) {
        self.init(secret: secret, nonce: secret.makeNonce())
    }

    /// A sealer with a nonce that must not have been used with this request before.
    init(secret: ResponseSecret, nonce: [UInt8]) {
        key = secret.key(responseNonce: nonce)
        prefix = nonce
    }

    /// Seals a part of the response.
    ///
    /// - Parameter bytes: a part of a Binary HTTP message; any number, none too.
    /// - Returns: bytes to send as `message/ohttp-chunked-res`.
    /// - Throws: `encapsulationFailed`.
    public mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        defer { prefix = [] }
        return try write(bytes, isFinal: false)
    }

    /// Seals the rest of the response and marks its end, without which the client refuses it.
    ///
    /// - Parameter bytes: the last part; may be empty.
    /// - Returns: the last bytes to send.
    /// - Throws: `encapsulationFailed`.
    public consuming func finish(_ bytes: some DataProtocol = [UInt8]()) throws(OHTTPError) -> [UInt8] {
        try write(bytes, isFinal: true)
    }

    private mutating func write(_ bytes: some DataProtocol, isFinal: Bool) throws(OHTTPError) -> [UInt8] {
        try Chunk.seal(bytes, prefix: prefix, isFinal: isFinal) { part, mark in
            // 2^64 chunks are never reached; a nonce would have to be used twice after them.
            defer { counter += 1 }
            return try key.seal(part, authenticating: mark, counter: counter)
        }
    }
}
