internal import CertificatePinning
internal import Foundation
internal import HTTPServing
internal import NIOSSL

/// The authority's certificate, and the pins that follow from it.
struct AuthorityListener: Sendable {
    /// The TLS configuration; nil for plain HTTP.
    let tls: TLSConfiguration?
    /// The pins that apps receive: of the key in use, and of the keys that may replace it.
    let pins: [String]
    /// The pins of the certificates that the server presents; for the authority's own certificate, the server key's only.
    let presentedPins: [String]
    let trustRoots: String?
    /// Renews the certificate; nil unless the authority made it.
    let renewal: RenewedCertificate?

    /// Reads or makes the certificate.
    /// - Throws: ``AuthorityError`` with code `identityFailed` when it cannot be read or made; with code `invalidConfiguration` when the
    ///   operator's certificate has no backup pin or a repeated one.
    init(_ configuration: AuthorityConfiguration, store: AuthorityStore) async throws {
        switch configuration.tls {
        case .none:
            tls = nil
            pins = []
            presentedPins = []
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
            presentedPins = Array(identity.pins.prefix(1))
            trustRoots = identity.rootPEM
        case .certificate(let certificatePEM, let keyPEM, let backupPins, let trustRootsPEM):
            tls = try Self.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
            do {
                presentedPins = try Certificate.all(inPEM: certificatePEM).map(\.pin.description)
                // Without the issuers' pins: otherwise anyone with a certificate from the same CA could pose as the authority.
                pins = try Array(presentedPins.prefix(1)) + backupPins.map { try Pin($0).description }
            } catch {
                throw AuthorityError(
                    .identityFailed,
                    "the certificate or a backup pin cannot be read; give a PEM certificate, and pins as approov pin -get prints them",
                    cause: error)
            }
            guard Set(pins).count >= 2 else { throw AuthorityError.noBackupPin }
            // Apps refuse a list that repeats a key, because it seems to have more backups than it has.
            guard Set(pins).count == pins.count else { throw AuthorityError.repeatedBackupPin }
            trustRoots = trustRootsPEM
            renewal = nil
        }
    }

    private static func tls(certificatePEM: String, keyPEM: String) throws -> TLSConfiguration {
        try AuthorityError.converting { () throws(ListenerFailure) in
            try ListenerAddress.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
        }
    }
}

extension AuthorityError {
    /// The error for a backup pin that is repeated, or is the pin of the certificate's own key.
    static var repeatedBackupPin: AuthorityError {
        AuthorityError(
            .invalidConfiguration,
            "a backup pin is given twice, or is the pin of the certificate's own key; give each backup key once "
                + "(approov serve --backup-pin; approov pin -get CERTIFICATE prints the certificate's pin)")
    }

    /// The error for a certificate without a backup pin: its key could never be replaced.
    static var noBackupPin: AuthorityError {
        AuthorityError(
            .invalidConfiguration,
            "the certificate's key has no backup key, which apps need; make a second key, keep it elsewhere and give its pin "
                + "(approov serve --backup-pin; approov pin -get KEYFILE prints it)")
    }
}
