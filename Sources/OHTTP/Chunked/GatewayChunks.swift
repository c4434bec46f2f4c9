import Crypto
public import Foundation

extension GatewayKeyring {
    /// Begins to open a request in chunks (draft-ietf-ohai-chunked-ohttp).
    ///
    /// - Parameter maximumChunkSize: The limit of the content of one chunk, in bytes; at least 16 KiB, which every gateway must accept.
    /// - Returns: The opener for the content of one `message/ohttp-chunked-req` request.
    public func chunkedRequestOpener(maximumChunkSize: Int = 64 * 1024) -> ChunkedRequestOpener {
        ChunkedRequestOpener(keyring: self, maximumChunkSize: max(maximumChunkSize, Chunk.size))
    }
}

/// Opens a request in chunks while it arrives.
///
/// Append the bytes that have arrived, then call `next` until it returns nil, and repeat. After the end of the stream, `finish` returns
/// the rest. The request is complete only if `finish` succeeds.
public struct ChunkedRequestOpener: ~Copyable, Sendable {
    private enum State: Sendable {
        case header
        case encapsulatedKey(MessageHeader)
        /// `isAccepted` says whether the header names a key of the keyring and a suite that the key accepts.
        case chunks(HPKE.Recipient, isAccepted: Bool)
        /// Nothing more can be opened.
        case ended
    }

    private let keyring: GatewayKeyring
    private var reader: ChunkReader
    private var state = State.header
    private var pendingSecret: ResponseSecret?
    private var pendingKey: (id: UInt8, encapsulatedKey: [UInt8])?
    private var isOpen = false

    /// The key identifier in the header if the keyring has no such key; nil otherwise, and before the header has arrived.
    package private(set) var unknownKeyID: UInt8?

    init(keyring: GatewayKeyring, maximumChunkSize: Int) {
        self.keyring = keyring
        reader = ChunkReader(maximumChunkSize: maximumChunkSize)
    }

    /// The encapsulated key, `enc`, which a replay window remembers; nil until the first chunk was opened.
    public var encapsulatedKey: [UInt8]? { isOpen ? pendingKey?.encapsulatedKey : nil }

    /// The identifier of the key that the request was sealed to; nil until the first chunk was opened.
    public var keyID: UInt8? { isOpen ? pendingKey?.id : nil }

    /// Takes the sealer of the response.
    ///
    /// - Returns: The sealer, once; nil before the first chunk was opened, and when the sealer was already taken.
    public mutating func takeResponse() -> ChunkedResponseSealer? {
        guard let secret = takeSecret() else { return nil }
        return ChunkedResponseSealer(secret: secret)
    }

    mutating func takeSecret() -> ResponseSecret? {
        isOpen ? pendingSecret.take() : nil
    }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter bytes: The content of the request, however it is split.
    public mutating func append(_ bytes: some DataProtocol) {
        reader.append(bytes)
    }

    /// Returns the content of the next chunk.
    ///
    /// - Returns: A part of a Binary HTTP message, or nil when more bytes are needed.
    /// - Throws: ``OHTTPError`` with code `limitExceeded` for a chunk that is too large (any observer can read its length), or
    ///   `decapsulationFailed` for every other cause, and for every call after a failure.
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
    /// Call it after the end of the stream, when `next` has returned nil.
    ///
    /// - Returns: The rest of the Binary HTTP message; may be empty.
    /// - Throws: ``OHTTPError`` with code `decapsulationFailed`, including when the stream ended too early.
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

    /// Reads the header and makes the HPKE context; false when more bytes are needed.
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
    /// The response nonce, until `seal` or `finish` has returned it.
    private var prefix: [UInt8]

    init(secret: ResponseSecret) {
        self.init(secret: secret, nonce: secret.makeNonce())
    }

    /// Makes a sealer with a nonce that was never used with this request.
    init(secret: ResponseSecret, nonce: [UInt8]) {
        key = secret.key(responseNonce: nonce)
        prefix = nonce
    }

    /// Seals a part of the response.
    ///
    /// - Parameter bytes: A part of a Binary HTTP message; may be empty.
    /// - Returns: The bytes to send as `message/ohttp-chunked-res`.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed`.
    public mutating func seal(_ bytes: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        defer { prefix = [] }
        return try write(bytes, isFinal: false)
    }

    /// Seals the rest of the response and marks its end, without which the client refuses it.
    ///
    /// - Parameter bytes: The last part; may be empty.
    /// - Returns: The last bytes to send.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed`.
    public consuming func finish(_ bytes: some DataProtocol = [UInt8]()) throws(OHTTPError) -> [UInt8] {
        try write(bytes, isFinal: true)
    }

    private mutating func write(_ bytes: some DataProtocol, isFinal: Bool) throws(OHTTPError) -> [UInt8] {
        try Chunk.seal(bytes, prefix: prefix, isFinal: isFinal) { part, mark in
            // After 2^64 chunks a nonce would repeat; no response has that many.
            defer { counter += 1 }
            return try key.seal(part, authenticating: mark, counter: counter)
        }
    }
}
