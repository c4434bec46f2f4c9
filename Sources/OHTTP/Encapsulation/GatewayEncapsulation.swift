import Crypto
public import Foundation

/// The keys that a gateway opens requests with: the newest, and older ones that clients still use.
public struct GatewayKeyring: Sendable {
    /// The keys, in the order in which clients shall prefer them.
    public let keys: [GatewayKey]

    /// A keyring.
    ///
    /// - Parameter keys: in the order in which clients shall prefer them.
    /// - Throws: `duplicateKey` when two keys have one identifier.
    public init(_ keys: [GatewayKey]) throws(OHTTPError) {
        guard Set(keys.map(\.configuration.id)).count == keys.count else {
            throw OHTTPError(.duplicateKey, "two gateway keys have the same identifier; give each its own")
        }
        self.keys = keys
    }

    /// What to publish as `application/ohttp-keys`.
    public var configurations: KeyConfigurationList { KeyConfigurationList(keys.map(\.configuration)) }

    /// Opens a request (RFC 9458, section 4.3).
    ///
    /// - Parameter message: the content of a `message/ohttp-req` request.
    /// - Returns: the request, and what seals its response.
    /// - Throws: `decapsulationFailed`, the same for every cause.
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

    /// The identifier of the key that a request names, when this ring has no key with it.
    ///
    /// The identifier stands in clear at the request's beginning (RFC 9458, section 4.1), so it tells nothing that others on the way do not see.
    ///
    /// - Parameter message: the content of a `message/ohttp-req` request.
    /// - Returns: the identifier; nil when the ring has that key, and for a message without a header.
    package func unknownKeyID(in message: some DataProtocol) -> UInt8? {
        guard let header = MessageHeader(message.prefix(MessageHeader.size)), key(named: header) == nil else { return nil }
        return header.keyID
    }

    /// The key that a header names, by its identifier and mechanism.
    func key(named header: MessageHeader) -> GatewayKey? {
        keys.first { $0.configuration.id == header.keyID && $0.configuration.kem == header.kem }
    }

    /// A context for the request, and whether the request names a key of this ring with a suite that the key accepts.
    ///
    /// A request that does not is tried with another key, and refused whatever comes of it: it takes the time of one that does.
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

/// An opened request and what seals its response.
///
/// Read what you need of it and call `response.seal`, which uses up the whole.
@frozen public struct DecapsulatedRequest: ~Copyable, Sendable {
    /// A Binary HTTP message.
    public let request: Data
    /// The key it was sealed to.
    public let keyID: UInt8
    /// The encapsulated key, `enc`, different in every request of an honest client: what a replay window remembers.
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
    /// The keys are gone afterwards.
    ///
    /// - Parameter response: a Binary HTTP message.
    /// - Returns: the content of a `message/ohttp-res` response.
    /// - Throws: `encapsulationFailed`.
    public consuming func seal(_ response: some DataProtocol) throws(OHTTPError) -> [UInt8] {
        let nonce = secret.makeNonce()
        return try seal(response, nonce: nonce)
    }

    /// Seals with a nonce that must not have been used with this request before.
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
    /// One error for everything that keeps a gateway from opening a request.
    static let decapsulationFailed = OHTTPError(.decapsulationFailed, "the request cannot be opened with a key of this gateway")
}
