internal import CertificatePinning
internal import Foundation
internal import HTTPServing
internal import NIOSSL

/// What the authority listens with: the certificate, and the pins that follow from it.
struct AuthorityListener: Sendable {
    /// Nil for plain http.
    let tls: TLSConfiguration?
    /// The pins that apps are given: of the key that this listener serves with, and of those that may replace it.
    let pins: [String]
    /// The pins of the chain that it presents.
    let presentedPins: [String]
    let trustRoots: String?
    /// Nil when the certificate is not the store's own.
    let renewal: RenewedCertificate?

    /// Reads or makes the certificate.
    /// - Throws: ``AuthorityError`` with code `identityFailed`; `invalidConfiguration` when the operator's certificate has no backup pin
    ///   beside it.
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
                // Not those of its issuers: whoever gets a certificate from the same CA would pass as the authority.
                pins = try Array(presentedPins.prefix(1)) + backupPins.map { try Pin($0).description }
            } catch {
                throw AuthorityError(.identityFailed, "the certificate or a backup pin cannot be read", cause: error)
            }
            guard Set(pins).count >= 2 else { throw AuthorityError.noBackupPin }
            // Apps refuse a list that names a key twice: it looks like one more backup than there is.
            guard Set(pins).count == pins.count else { throw AuthorityError.repeatedBackupPin }
            trustRoots = trustRootsPEM
            renewal = nil
        }
    }

    private static func tls(certificatePEM: String, keyPEM: String) throws -> TLSConfiguration {
        do throws(ListenerFailure) {
            return try ListenerAddress.tls(certificatePEM: certificatePEM, keyPEM: keyPEM)
        } catch {
            throw AuthorityError(error)
        }
    }
}

extension AuthorityError {
    /// Backup pins of which two are for one key, or one is the certificate's own.
    static var repeatedBackupPin: AuthorityError {
        AuthorityError(
            .invalidConfiguration,
            "a backup pin is named twice, or is that of the certificate's own key: name each backup key once "
                + "(approov serve --backup-pin; approov pin -get CERTIFICATE shows the certificate's)")
    }

    /// An authority whose key could never be replaced.
    static var noBackupPin: AuthorityError {
        AuthorityError(
            .invalidConfiguration,
            "the certificate's key has no backup, and apps need one: make a second key, keep it elsewhere and name its pin "
                + "(approov serve --backup-pin; approov pin -get KEYFILE shows it)")
    }
}
