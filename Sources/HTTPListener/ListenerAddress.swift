internal import CertificatePinning
package import NIOSSL

/// Where a server listens, and with which certificate.
package struct ListenerAddress: Sendable {
    /// The address or name.
    package let host: String
    /// The port; 0 lets the system choose.
    package let port: Int
    /// Nil for plain http.
    package let tls: TLSConfiguration?

    package init(host: String, port: Int, tls: TLSConfiguration?) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    /// Whether only this machine can reach it: the addresses for which plain http will do.
    package static func isLoopback(_ host: String) -> Bool {
        (try? CanonicalHost(host))?.isLoopback ?? false
    }

    /// The server's URL, without a path.
    /// - Parameter port: the port that was bound
    /// - Returns: such as `https://localhost:8443`
    package func url(port: Int) -> String {
        let name = (try? CanonicalHost(host)).map { $0.name == "0.0.0.0" || $0.name == "::" ? "localhost" : $0.urlText } ?? host
        return "\(tls == nil ? "http" : "https")://\(name):\(port)"
    }

    /// A server's TLS with a certificate of its operator's.
    /// - Parameters:
    ///   - certificatePEM: the certificate and its intermediates
    ///   - keyPEM: its private key, without a passphrase
    /// - Returns: TLS 1.2 and later, with the certificate
    /// - Throws: NIOSSL's error when one of them cannot be read
    package static func tls(certificatePEM: String, keyPEM: String) throws -> TLSConfiguration {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8)).map { NIOSSLCertificateSource.certificate($0) }
        let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
        var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
        tls.minimumTLSVersion = .tlsv12
        return tls
    }
}
