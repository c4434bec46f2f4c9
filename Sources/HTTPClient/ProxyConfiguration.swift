public import CertificatePinning

/// A proxy that the caller configured.
public struct ProxyConfiguration: Sendable, Hashable {
    /// The protocol to speak with the proxy.
    ///
    /// TLS to the proxy itself is not supported.
    public enum Kind: Sendable, Hashable {
        /// HTTP, with CONNECT for https (RFC 9110, section 9.3.6).
        case http
        /// SOCKS 5 with names resolved by the proxy (RFC 1928).
        case socks5
    }

    /// The protocol to speak with the proxy.
    public var kind: Kind
    /// The proxy's name or address.
    public var host: CanonicalHost
    /// The proxy's port.
    public var port: Int

    /// Describes a proxy.
    ///
    /// - Parameters:
    ///   - kind: The protocol to speak with the proxy.
    ///   - host: The proxy's name or address.
    ///   - port: The proxy's port, 1...65535.
    public init(kind: Kind, host: CanonicalHost, port: Int) {
        self.kind = kind
        self.host = host
        self.port = port
    }
}
