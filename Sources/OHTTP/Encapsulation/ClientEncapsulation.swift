import Crypto
public import Foundation

extension KeyConfiguration {
    /// Seals a request for the gateway (RFC 9458, section 4.3), with a fresh HPKE context each time.
    ///
    /// - Parameters:
    ///   - request: A Binary HTTP message.
    ///   - suite: One of `suites`; nil for the first.
    /// - Returns: The message to send as `message/ohttp-req`, and the opener of its response.
    /// - Throws: ``OHTTPError`` with code `unsupportedKeyConfiguration` when the configuration does not name `suite`, or
    ///   `encapsulationFailed`.
    public func encapsulate(_ request: some DataProtocol, suite: SymmetricSuite? = nil) throws(OHTTPError) -> EncapsulatedRequest {
        let header = try header(suite)
        let sender = try sender(header, .whole)
        return try EncapsulatedRequest(request, header: header, sender: sender)
    }

    func header(_ suite: SymmetricSuite?) throws(OHTTPError) -> MessageHeader {
        guard let chosen = suite ?? suites.first, suites.contains(chosen) else {
            throw OHTTPError(.unsupportedKeyConfiguration, "the gateway's key configuration does not have this suite; use one of `suites`")
        }
        return MessageHeader(keyID: id, kem: kem, suite: chosen)
    }

    func sender(_ header: MessageHeader, _ variant: Variant) throws(OHTTPError) -> HPKE.Sender {
        do {
            return try key.sender(header.ciphersuite, info: header.info(variant))
        } catch {
            throw .encapsulationFailed(error)
        }
    }
}

/// A sealed request and the opener of its response.
///
/// Take `message`, send it, and call `response.open`, which consumes this value.
@frozen public struct EncapsulatedRequest: ~Copyable, Sendable {
    /// The content of the request to the relay, `message/ohttp-req`.
    ///
    /// It uses the memory that the cipher wrote, so that a large message is not copied; its first index can differ from 0.
    public let message: Data
    /// Opens the response, once.
    public let response: ResponseOpener

    init(_ request: some DataProtocol, header: MessageHeader, sender: HPKE.Sender) throws(OHTTPError) {
        let sealed = try Self.seal(request, header: header, sender: sender)
        message = sealed.message
        response = ResponseOpener(secret: sealed.secret)
    }

    private static func seal(
        _ request: some DataProtocol, header: MessageHeader, sender: HPKE.Sender
    ) throws(OHTTPError) -> (message: Data, secret: ResponseSecret) {
        var sender = sender
        do {
            var message = try sender.seal(request)
            message.prepend(header.bytes + sender.encapsulatedKey)
            return (message, try ResponseSecret(sender, suite: header.suite, variant: .whole))
        } catch {
            throw .encapsulationFailed(error)
        }
    }
}

/// Opens the response to one request, once.
public struct ResponseOpener: ~Copyable, Sendable {
    let secret: ResponseSecret

    init(secret: ResponseSecret) {
        self.secret = secret
    }

    /// Opens the response (RFC 9458, section 4.4).
    ///
    /// The keys are discarded, whether it succeeds or not.
    ///
    /// - Parameter response: The content of a `message/ohttp-res` response.
    /// - Returns: A Binary HTTP message.
    /// - Throws: ``OHTTPError`` with code `responseRejected` when the response was changed or cut short, or answers another request.
    public consuming func open(_ response: some DataProtocol) throws(OHTTPError) -> Data {
        guard response.count >= secret.nonceSize + SymmetricSuite.AEAD.tagSize else { throw .responseRejected(nil) }
        let key = secret.key(responseNonce: response.prefix(secret.nonceSize))
        do {
            return try key.open(response.dropFirst(secret.nonceSize))
        } catch {
            throw .responseRejected(error)
        }
    }
}

extension OHTTPError {
    static func encapsulationFailed(_ cause: any Error) -> OHTTPError {
        OHTTPError(.encapsulationFailed, "the message cannot be sealed", cause: cause)
    }

    static func responseRejected(_ cause: (any Error)?) -> OHTTPError {
        OHTTPError(.responseRejected, "the response was changed or truncated in transit, or it answers another request", cause: cause)
    }
}
