internal import ApproovTokens
internal import Attestation
internal import CertificatePinning
internal import Crypto
internal import Foundation
internal import HTTPServing

/// Checks a configuration before the authority listens.
enum AuthoritySettings {
    static func check(_ configuration: AuthorityConfiguration, store: AuthorityStore) throws {
        func refuse(_ message: String) throws -> Never {
            throw AuthorityError(.invalidConfiguration, message)
        }
        guard TokenLifetime.allowed.contains(configuration.tokenLifetime) else {
            try refuse("the token lifetime must be 1 to 86400 seconds")
        }
        guard (0...65_535).contains(configuration.port) else { try refuse("the port must be 0 to 65535") }
        if let rate = configuration.attestationsPerMinute, !(1...1_000_000).contains(rate) {
            try refuse("the attestations per minute must be 1 to 1000000")
        }
        let limits = configuration.limits
        let sizes = [limits.evidenceBytes, limits.otherBodyBytes, limits.headerBytes, limits.headerFields, limits.connections]
        guard sizes.allSatisfy({ $0 > 0 }), limits.rememberedAddresses > 0 else { try refuse("every limit must be greater than zero") }
        guard limits.connectionsPerClient ?? 1 > 0 else { try refuse("every limit must be greater than zero") }
        _ = try proxies(configuration.trustedProxies)
        guard limits.idleTimeout > .zero, limits.requestTimeout > .zero, limits.drain >= .zero else {
            try refuse("every timeout must be greater than zero, and the drain time not negative")
        }
        // Port 0 stands for the port that the system will choose, and is not a port of a URL.
        guard let url = publicURL(configuration, port: max(1, configuration.port)), AudienceName(url.absoluteString) != nil else {
            try refuse("the public URL must be https://HOST[:PORT], without user and query")
        }
        if case .none = configuration.tls {
            guard isLoopback(configuration) else { throw AuthorityError(.insecure(configuration.host)) }
        } else if url.scheme?.lowercased() != "https" {
            try refuse("the public URL must begin with https://")
        }
        let keys = store.snapshot
        let thumbprint = PublicJWK(keys.configurationKey.publicKey).thumbprint
        let secrets = [keys.secrets.current, keys.secrets.previous?.secret].compactMap { $0 }
        if secrets.contains(where: { DemoKeys.isDemo(accountSecret: $0.bytes) }) || DemoKeys.isDemo(jwkThumbprint: thumbprint) {
            try refuseDemo(configuration)
        }
    }

    /// Parses the configuration's trusted proxies.
    static func proxies(_ texts: [String]) throws -> [AddressRange] {
        try AuthorityError.converting { () throws(ListenerFailure) in try AddressRange.all(texts) }
    }

    static func check(pins: [String], _ configuration: AuthorityConfiguration) throws {
        if pins.contains(where: { DemoKeys.isDemo(tlsKeyPin: $0) }) { try refuseDemo(configuration) }
    }

    /// The URL under which apps reach the authority.
    /// - Parameters:
    ///   - configuration: The authority's configuration.
    ///   - port: The actual port; it replaces a port of 0.
    /// - Returns: The URL; nil when the host name is invalid.
    static func publicURL(_ configuration: AuthorityConfiguration, port: Int) -> URL? {
        if let url = configuration.publicURL {
            guard var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return nil }
            if components.port == 0 { components.port = port }
            return components.url
        }
        guard let host = try? CanonicalHost(configuration.host) else { return nil }
        var scheme = "https"
        if case .none = configuration.tls { scheme = "http" }
        let isAny = host.name == "0.0.0.0" || host.name == "::"
        return URL(string: "\(scheme)://\(isAny ? "localhost" : host.urlText):\(port)")
    }

    private static func refuseDemo(_ configuration: AuthorityConfiguration) throws {
        // A proxy on this machine may serve the world.
        let isPublic = configuration.publicURL?.host().map { !ListenerAddress.isLoopback($0) } ?? false
        guard isLoopback(configuration), !isPublic else {
            throw AuthorityError(
                .demoKeysExposed,
                "the demo account's keys are public; serve it on 127.0.0.1 without a public URL, or make your own account in another data directory"
            )
        }
    }

    private static func isLoopback(_ configuration: AuthorityConfiguration) -> Bool {
        ListenerAddress.isLoopback(configuration.host)
    }
}
