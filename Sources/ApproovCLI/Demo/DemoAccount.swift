import ApproovAuthority
import ApproovTokens
import Crypto
import Foundation

/// The demo account.
///
/// Its keys are published with the source, so that `approov-initial.config` fits every `approov serve --demo`.
enum DemoAccount {
    static let name = "demo"
    /// The demo authority's host name; every `*.localhost` name is this machine (RFC 6761, section 6.3).
    static let authorityHost = "authority.demo.localhost"
    static let port = 8443

    /// The initial content of a demo account's store.
    static func seed() throws -> AccountSeed {
        try AccountSeed(
            account: name, secret: secret(),
            configurationKey: P256.Signing.PrivateKey(pemRepresentation: pem(PackageResources.demo_only_config_key_pem)),
            identity: ServerIdentity.make(
                rootPEM: pem(PackageResources.demo_only_tls_root_pem), rootKeyPEM: pem(PackageResources.demo_only_tls_root_key_pem),
                keyPEM: pem(PackageResources.demo_only_tls_key_pem), backupKeyPEM: pem(PackageResources.demo_only_tls_backup_key_pem),
                hosts: [authorityHost], now: Date()))
    }

    /// Whether a store is the demo account's.
    static func isDemo(_ store: AuthorityStore) throws -> Bool {
        try store.account == name && store.accountSecret.bytes == secret().bytes
    }

    static func secret() throws -> AccountSecret {
        let lines = text(PackageResources.demo_only_account_secret_txt).split(whereSeparator: \.isNewline)
        // The first line warns that this secret is not secret.
        return try AccountSecret(base64: String(lines.last ?? ""))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the PEM block without the warning in front of it.
    private static func pem(_ bytes: [UInt8]) -> String {
        let text = text(bytes)
        return text.range(of: "-----BEGIN").map { String(text[$0.lowerBound...]) } ?? text
    }
}
