internal import CertificatePinning
internal import Foundation
internal import HTTPListener
internal import NIOSSL

/// What the authority listens with: the certificate, and the pins that follow from it.
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

    private static func tls(certificatePEM: String, keyPEM: String) throws -> TLSConfiguration {
        do {
            return try ListenerAddress.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
        } catch {
            throw ServerError.unreadableIdentity(error)
        }
    }
}

extension ServerError {
    /// The operator's certificate or key does not parse.
    static func unreadableIdentity(_ cause: any Error) -> ServerError {
        ServerError(
            code: .identityFailed,
            message: "the TLS certificate or its key cannot be read; give both in PEM, the key without a passphrase", cause: cause)
    }

    /// Plain http where others could listen in.
    static func insecureListener(_ host: String) -> ServerError {
        ServerError(
            code: .insecureListener,
            message: "\(host) is not a loopback address, and plain http is for those alone; serve with TLS")
    }
}
