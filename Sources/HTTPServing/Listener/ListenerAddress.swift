internal import CertificatePinning
package import NIOSSL

/// Where a server listens, and with which certificate.
package struct ListenerAddress: Sendable {
    /// The address or name to listen on.
    package let host: String
    /// The port; 0 lets the system choose.
    package let port: Int
    /// The TLS configuration; nil for plain http.
    package let tls: TLSConfiguration?

    package init(host: String, port: Int, tls: TLSConfiguration?) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Makes an address with the operator's certificate, or without TLS.
    ///
    /// - Parameters:
    ///   - host: The address or name to listen on.
    ///   - port: The port; 0 lets the system choose.
    ///   - identity: The certificate with its intermediates, and its private key; nil for plain http.
    /// - Throws: `ListenerFailure` of kind `insecure` for plain http on an address that is not loopback, `unreadableIdentity` when the
    ///   certificate or key does not parse, or they do not belong together.
    package init(host: String, port: Int, identity: (certificatePEM: String, keyPEM: String)?) throws(ListenerFailure) {
        guard identity != nil || Self.isLoopback(host) else { throw .insecure(host) }
        var tls: TLSConfiguration?
        if let identity { tls = try Self.tls(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM) }
        self.init(host: host, port: port, tls: tls)
    }

    /// Whether only this machine can reach the address, so that plain http is allowed.
    package static func isLoopback(_ host: String) -> Bool {
        (try? CanonicalHost(host))?.isLoopback ?? false
    }

    /// The server's URL, without a path.
    ///
    /// - Parameter port: The port that was bound.
    /// - Returns: The URL, such as `https://localhost:8443`.
    package func url(port: Int) -> String {
        let name = (try? CanonicalHost(host)).map { $0.name == "0.0.0.0" || $0.name == "::" ? "localhost" : $0.urlText } ?? host
        return "\(tls == nil ? "http" : "https")://\(name):\(port)"
    }

    /// Makes a TLS configuration with the operator's certificate.
    ///
    /// - Parameters:
    ///   - certificatePEM: The certificate and its intermediates.
    ///   - keyPEM: Its private key, without a passphrase.
    /// - Returns: A configuration for TLS 1.2 and later with the certificate.
    /// - Throws: `ListenerFailure` of kind `unreadableIdentity` when the certificate or key does not parse, or they do not belong together.
    package static func tls(certificatePEM: String, keyPEM: String) throws(ListenerFailure) -> TLSConfiguration {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8)).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            // Fails for a key that does not belong to the certificate.
            _ = try NIOSSLContext(configuration: tls)
            return tls
        } catch {
            throw .unreadableIdentity(error)
        }
    }
}
