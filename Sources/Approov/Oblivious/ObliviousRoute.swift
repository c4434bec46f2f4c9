import ApproovBase
import Attestation
import CertificatePinning
public import Foundation
import HTTPClient
import OHTTP

/// The way to a host over Oblivious HTTP (RFC 9458): a relay, which learns who asks, and the key of the gateway behind it, which learns
/// what is asked.
///
/// Hosts that the configuration calls oblivious have theirs in it. Give a session one of its own for hosts that the configuration does not
/// name.
public struct ObliviousRoute: Sendable {
    /// Whether messages are sent in chunks (draft-ietf-ohai-chunked-ohttp), so that neither requests nor responses need to be in memory.
    public enum Chunking: Sendable {
        /// All requests in chunks once the gateway has understood one.
        ///
        /// Before the first one that has a body from a file or a stream, or a large one, or whose response is streamed, a message with no
        /// request in it asks the gateway whether it knows chunks. When it refuses that with 400, 415 or 422, requests of the next ten
        /// minutes go without. Say `always` or `never` where it is known, and the question is spared.
        case automatic
        /// Always, for a gateway that is known to understand them.
        case always
        /// Never, for a gateway that knows RFC 9458 alone.
        case never
    }

    let relay: TransportURL
    let key: KeyConfiguration
    let chunking: Chunking

    /// Names relay and gateway.
    ///
    /// - Parameters:
    ///   - relay: The relay's URL: https, or plain http on a loopback address.
    ///   - keyConfiguration: What the gateway publishes as `application/ohttp-keys`, or one bare configuration.
    ///   - chunking: Whether messages are sent in chunks.
    /// - Throws: ``ApproovError`` `configurationError` for a relay that cannot be used or keys that cannot be read.
    public init(relay: URL, keyConfiguration: Data, chunking: Chunking = .automatic) throws {
        do {
            try self.init(relay: Self.relay(relay.absoluteString), keys: keyConfiguration, chunking: chunking)
        } catch let error as ApproovError {
            throw error
        } catch {
            throw ApproovError(.configurationError, "the way over Oblivious HTTP cannot be used", cause: error)
        }
    }

    /// Reads what the signed configuration says; there, a list of keys is the only form.
    init(_ settings: ObliviousSettings) throws {
        relay = try Self.relay(settings.relay)
        key = try KeyConfigurationList(decoding: Base64.decode(settings.keyConfig) ?? []).preferred()
        chunking =
            switch settings.chunked {
            case nil: .automatic
            case true?: .always
            case false?: .never
            }
    }

    /// Reads the keys that a gateway published.
    init(relay: TransportURL, keys: Data, chunking: Chunking) throws {
        self.relay = relay
        self.chunking = chunking
        do {
            key = try KeyConfigurationList(decoding: keys).preferred()
        } catch {
            // Some gateways publish a single configuration without the length that a list gives each.
            guard error.code == .malformedKeyConfiguration, let single = try? KeyConfiguration(decoding: keys) else { throw error }
            key = single
        }
    }

    /// Reads a relay's URL.
    static func relay(_ text: String) throws -> TransportURL { try url(text, of: "the relay") }

    /// Reads the URL of a gateway's keys.
    static func keys(_ text: String) throws -> TransportURL { try url(text, of: "the key URL's host") }

    private static func url(_ text: String, of server: String) throws -> TransportURL {
        let url = try TransportURL(text)
        guard url.isSecure || url.host.isLoopback else {
            throw ApproovError(.configurationError, "\(server) \(url.host) is to be reached over plain http: use https")
        }
        return url
    }
}
