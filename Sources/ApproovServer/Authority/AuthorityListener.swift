internal import CertificatePinning
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import NIOCore
internal import NIOSSL

/// How the authority listens: the certificate, the protocols, and the pins that follow from them.
struct AuthorityListener: Sendable {
    /// Nil for plain http.
    let tls: TLSConfiguration?
    /// The pins of the keys that this listener may serve with.
    let pins: [String]
    let trustRoots: String?
    /// Nil when the certificate is not the store's own.
    let renewal: RenewedCertificate?

    /// Reads or makes the certificate.
    /// - Throws: `ServerError.identityFailed`
    init(_ configuration: AuthorityConfiguration, store: AuthorityStore) async throws {
        switch configuration.tls {
        case .none:
            tls = nil
            pins = []
            trustRoots = nil
            renewal = nil
        case .own:
            let names = [configuration.publicURL?.host(), configuration.host].compactMap { $0 }.compactMap { try? CanonicalHost($0).name }
            let hosts = names.filter { $0 != "0.0.0.0" && $0 != "::" }
            let identity = try await store.serverIdentity(hosts: hosts)
            let renewal = RenewedCertificate(store: store, hosts: hosts, identity: identity)
            var tls = try Self.tls(certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM)
            renewal.attach(to: &tls)
            self.tls = tls
            self.renewal = renewal
            pins = identity.pins
            trustRoots = identity.rootPEM
        case .certificate(let certificatePEM, let keyPEM, let backupPins, let trustRootsPEM):
            tls = try Self.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
            do {
                let chain = try Certificate.all(inPEM: certificatePEM).map(\.pin)
                pins = try (chain + backupPins.map { try Pin($0) }).map(\.description)
            } catch {
                throw ServerError(code: .identityFailed, message: "the certificate or a backup pin cannot be read", cause: error)
            }
            trustRoots = trustRootsPEM
            renewal = nil
        }
    }

    /// The protocols: HTTP/1.1 and HTTP/2 over TLS, or HTTP/1.1 in the clear.
    func builder(limits: AuthorityConfiguration.Limits, table: ConnectionTable) -> HTTPServerBuilder {
        let stream = HTTP1Channel.Configuration(
            additionalChannelHandlers: [EndStreamInstaller()],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: limits.headerFields))
        let tls = tls
        return HTTPServerBuilder { responder in
            let responder = table.accounting(responder)
            guard let tls else {
                return GuardedChannel(base: HTTP1Channel(responder: responder, configuration: stream), table: table)
            }
            let channel = try HTTP2UpgradeChannel(
                tlsConfiguration: tls, configuration: .init(idleTimeout: limits.idleTimeout, streamConfiguration: stream),
                responder: responder)
            return GuardedChannel(base: channel, table: table)
        }
    }

    private static func tls(certificatePEM: String, keyPEM: String) throws -> TLSConfiguration {
        do {
            let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8)).map { NIOSSLCertificateSource.certificate($0) }
            let key = try NIOSSLPrivateKey(bytes: Array(keyPEM.utf8), format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            return tls
        } catch {
            throw ServerError(
                code: .identityFailed,
                message: "the TLS certificate or its key cannot be read; give both in PEM, the key without a passphrase", cause: error)
        }
    }
}
