import Crypto
public import Foundation

/// The keys with which a gateway opens requests: the newest, and older ones that clients still use.
public struct GatewayKeyring: Sendable {
    /// The keys, in the order in which clients should prefer them.
    public let keys: [GatewayKey]

    /// Makes a keyring.
    ///
    /// - Parameter keys: The keys, in the order in which clients should prefer them.
    /// - Throws: ``OHTTPError`` with code `duplicateKey` when two keys have the same identifier.
    public init(_ keys: [GatewayKey]) throws(OHTTPError) {
        guard Set(keys.map(\.configuration.id)).count == keys.count else {
            throw OHTTPError(.duplicateKey, "two gateway keys have the same identifier; give each key its own")
        }
        self.keys = keys
    }

    /// The key configurations to publish as `application/ohttp-keys`.
    public var configurations: KeyConfigurationList { KeyConfigurationList(keys.map(\.configuration)) }

    /// Opens a request (RFC 9458, section 4.3).
    ///
    /// - Parameter message: The content of a `message/ohttp-req` request.
    /// - Returns: The request and the sealer of its response.
    /// - Throws: ``OHTTPError`` with code `decapsulationFailed`, the same for every cause.
    public func decapsulate(_ message: some DataProtocol) throws(OHTTPError) -> DecapsulatedRequest {
        guard let header = MessageHeader(message.prefix(MessageHeader.size)) else { throw .decapsulationFailed }
        let rest = message.dropFirst(MessageHeader.size)
        guard rest.count >= header.kem.encapsulatedKeySize + SymmetricSuite.AEAD.tagSize else { throw .decapsulationFailed }
        let encapsulatedKey = Data(rest.prefix(header.kem.encapsulatedKeySize))
        do {
            var recipient = try recipient(header, encapsulatedKey, .whole)
            let request = try recipient.context.open(rest.dropFirst(encapsulatedKey.count))
            guard recipient.isAccepted else { throw OHTTPError.decapsulationFailed }
            let secret = try ResponseSecret(
                recipient.context, encapsulatedKey: encapsulatedKey, suite: header.suite, variant: .whole)
            return DecapsulatedRequest(
                request: request, keyID: header.keyID, encapsulatedKey: [UInt8](encapsulatedKey), response: ResponseSealer(secret: secret))
        } catch {
            throw .decapsulationFailed
        }
    }

    /// The identifier of the key that a request names, if this keyring has no such key.
    ///
    /// Requests carry the identifier unencrypted (RFC 9458, section 4.1), so it reveals nothing that other parties cannot read.
    ///
    /// - Parameter message: The content of a `message/ohttp-req` request.
    /// - Returns: The identifier; nil when the keyring has the key, and for a message without a valid header.
    package func unknownKeyID(in message: some DataProtocol) -> UInt8? {
        guard let header = MessageHeader(message.prefix(MessageHeader.size)), key(named: header) == nil else { return nil }
        return header.keyID
    }

    /// The key that a header names by its identifier and KEM.
    func key(named header: MessageHeader) -> GatewayKey? {
        keys.first { $0.configuration.id == header.keyID && $0.configuration.kem == header.kem }
    }

    /// Makes a context for the request, and says whether the request names a key of this keyring with a suite that the key accepts.
    ///
    /// A request without such a key is tried with another key of the same KEM and then refused, whatever the result, so that it takes as
    /// long as an accepted one.
    func recipient(
        _ header: MessageHeader, _ encapsulatedKey: Data, _ variant: Variant
    ) throws -> (context: HPKE.Recipient, isAccepted: Bool) {
        if header.kem == .x25519, X25519Point.isLowOrder(encapsulatedKey) { throw OHTTPError.decapsulationFailed }
        let named = key(named: header)
        guard let key = named ?? keys.first(where: { $0.configuration.kem == header.kem }) else { throw OHTTPError.decapsulationFailed }
        let context = try key.privateKey.recipient(header.ciphersuite, info: header.info(variant), encapsulatedKey: encapsulatedKey)
        return (context, named?.configuration.suites.contains(header.suite) == true)
    }
}

/// An opened request and the sealer of its response.
///
/// Read the properties that you need, then call `response.seal`, which consumes this value.
@frozen public struct DecapsulatedRequest: ~Copyable, Sendable {
    /// The request, a Binary HTTP message.
    public let request: Data
    /// The identifier of the key that the request was sealed to.
    public let keyID: UInt8
    /// The encapsulated key, `enc`, which a replay window remembers; an honest client never uses one twice.
    public let encapsulatedKey: [UInt8]
    /// Seals the response, once.
    public let response: ResponseSealer
}

/// Seals the response to one request, once.
public struct ResponseSealer: ~Copyable, Sendable {
    let secret: ResponseSecret

    init(secret: ResponseSecret) {
        self.secret = secret
    }

    /// Seals the response (RFC 9458, section 4.4).
    ///
    /// The keys are discarded afterwards.
    ///
    /// - Parameter response: A Binary HTTP message.
    /// - Returns: The content of a `message/ohttp-res` response.
    /// - Throws: ``OHTTPError`` with code `encapsulationFailed`.
    public consuming func seal(_ response: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        let nonce = secret.makeNonce()
        return try seal(response, nonce: nonce)
    }

    /// Seals with a nonce that was never used with this request.
    consuming func seal(_ response: some DataProtocol, nonce: [UInt8]) throws(OHTTPError) -> [UInt8] {
        do {
            let sealed = try secret.key(responseNonce: nonce).seal(response)
            var message: [UInt8] = []
            message.reserveCapacity(nonce.count + sealed.count)
            message += nonce
            message += sealed
            return message
        } catch {
            throw .encapsulationFailed(error)
        }
    }
}

extension OHTTPError {
    /// The one error for every failure of a gateway to open a request.
    static let decapsulationFailed = OHTTPError(.decapsulationFailed, "the request cannot be opened with a key of this gateway")
}
