import ApproovBase
import Attestation
import CertificatePinning
public import Foundation
import HTTPClient
import OHTTP

/// A route to hosts over Oblivious HTTP (RFC 9458): a relay, and the keys of the gateway behind it.
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

    /// Where the key of the gateway comes from.
    enum Keys: Sendable {
        /// One key, for as long as the route is used.
        case fixed(KeyConfiguration)
        /// The keys that the gateway publishes now.
        case live(LiveKeys)
    }

    let relay: TransportURL
    let keys: Keys
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
            throw ApproovError(.configurationError, "the Oblivious HTTP route cannot be used", cause: error)
        }
    }

    /// Creates a route from a relay and a source of the gateway's current keys.
    ///
    /// The session asks the source before every request. When the gateway refuses a key, the session asks it to fetch the keys again, and
    /// sends the request once more. It sends a request whose method is not idempotent again only with another key, because a relay can
    /// claim that a key was refused after the gateway has served the request; and a request whose body is a stream never.
    ///
    /// - Parameters:
    ///   - relay: The relay's URL: https, or plain http on a loopback address.
    ///   - keys: The source of the keys, such as an ``HTTPKeyConfigurationClient``. A server that can choose the keys can read every request.
    ///   - chunking: Whether messages are sent in chunks.
    /// - Throws: ``ApproovError`` with code `configurationError` when the relay cannot be used.
    public init(relay: URL, keys: any KeyConfigurationClient, chunking: Chunking = .automatic) throws {
        do {
            self.relay = try Self.relay(relay.absoluteString)
        } catch let error as ApproovError {
            throw error
        } catch {
            throw ApproovError(.configurationError, "the Oblivious HTTP route cannot be used", cause: error)
        }
        self.keys = .live(LiveKeys(keys))
        self.chunking = chunking
    }

    /// Creates the route of a signed configuration, which contains the keys as a list only.
    init(_ settings: ObliviousSettings) throws {
        relay = try Self.relay(settings.relay)
        keys = .fixed(try KeyConfigurationList(decoding: Base64.decode(settings.keyConfig) ?? []).preferred())
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
        self.keys = .fixed(try KeyConfigurationList(published: keys).preferred())
    }

    /// The key of a route that has one for as long as it is used; nil for a route with live keys.
    var key: KeyConfiguration? {
        if case .fixed(let key) = keys { key } else { nil }
    }

    /// The live keys; nil for a route that has one key for as long as it is used.
    var liveKeys: LiveKeys? {
        if case .live(let keys) = keys { keys } else { nil }
    }

    /// Returns the route with the key that a message is sealed with; nil if the route has live keys and `liveKey` is nil.
    func keyed(_ liveKey: KeyConfiguration?) -> KeyedRoute? {
        (key ?? liveKey).map { KeyedRoute(relay: relay, key: $0, chunking: chunking) }
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
