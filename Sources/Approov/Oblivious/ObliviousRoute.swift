import ApproovBase
import Attestation
import CertificatePinning
public import Foundation
import HTTPClient
import OHTTP

/// A route to hosts over Oblivious HTTP (RFC 9458): a relay, and the key of the gateway behind it.
///
/// The relay learns who calls, and the gateway learns the request. For the oblivious hosts of the configuration, the configuration
/// contains the route. Give a session its own route for hosts that the configuration does not name.
public struct ObliviousRoute: Sendable {
    /// Whether messages are sent in chunks (draft-ietf-ohai-chunked-ohttp), so that requests and responses need not fit in memory.
    public enum Chunking: Sendable {
        /// All requests go in chunks once the gateway has understood one.
        ///
        /// The session first probes the gateway with a message that contains no request. It does so before the first request that has a
        /// body from a file or a stream, has a body of more than 512 KiB, or has a streamed response. If the gateway refuses the probe with
        /// 400, 415 or 422, requests are sent whole for ten minutes. Choose `always` or `never` if you know what the gateway supports; that
        /// saves the probe.
        case automatic
        /// Always; for a gateway that is known to understand chunks.
        case always
        /// Never; for a gateway that supports only RFC 9458.
        case never
    }

    let relay: TransportURL
    let key: KeyConfiguration
    let chunking: Chunking

    /// Creates a route from a relay and a gateway's keys.
    ///
    /// - Parameters:
    ///   - relay: The relay's URL: https, or plain http on a loopback address.
    ///   - keyConfiguration: The `application/ohttp-keys` that the gateway publishes, or one bare key configuration.
    ///   - chunking: Whether messages are sent in chunks.
    /// - Throws: ``ApproovError`` with code `configurationError` when the relay cannot be used or the keys cannot be read.
    public init(relay: URL, keyConfiguration: Data, chunking: Chunking = .automatic) throws {
        do {
            try self.init(relay: Self.relay(relay.absoluteString), keys: keyConfiguration, chunking: chunking)
        } catch let error as ApproovError {
            throw error
        } catch {
            throw ApproovError(.configurationError, "the way over Oblivious HTTP cannot be used", cause: error)
        }
    }

    /// Creates the route of a signed configuration, which contains the keys as a list only.
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

    /// Creates a route from the keys that a gateway published.
    init(relay: TransportURL, keys: Data, chunking: Chunking) throws {
        self.relay = relay
        self.chunking = chunking
        key = try KeyConfigurationList(published: keys).preferred()
    }

    /// Parses a relay's URL.
    static func relay(_ text: String) throws -> TransportURL { try url(text, of: "the relay") }

    /// Parses the URL of a gateway's keys.
    static func keys(_ text: String) throws -> TransportURL { try url(text, of: "the key URL's host") }

    private static func url(_ text: String, of server: String) throws -> TransportURL {
        let url = try TransportURL(text)
        guard url.isSecure || url.host.isLoopback else {
            throw ApproovError(.configurationError, "\(server) \(url.host) is called over https only: use an https URL")
        }
        return url
    }
}
