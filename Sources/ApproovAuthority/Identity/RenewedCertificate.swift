internal import Attestation
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The authority's own certificate, renewed while the authority runs, so that a process that is never restarted stays reachable.
///
/// The key and its pins stay the same, unless the store's key was rotated since the start. Open connections keep the certificate that they
/// began with.
final class RenewedCertificate: Sendable {
    private struct State {
        var identity: ServerIdentity
        var override: NIOSSLContextConfigurationOverride
    }

    private let store: AuthorityStore
    private let hosts: [String]
    private let state: Mutex<State>

    init(store: AuthorityStore, hosts: [String], identity: ServerIdentity) {
        self.store = store
        self.hosts = hosts
        // The listener starts with this certificate, so it needs no override yet.
        state = Mutex(State(identity: identity, override: .noChanges))
    }

    /// The certificates that were renewed.
    enum Renewal: Sendable {
        case certificate, certificateAndRoot
        /// The certificate is for the key that `AuthorityStore.rotateServerKey()` put in the place of the one that was served.
        case certificateAndKey
    }

    /// Makes a new certificate when half of the old one's life is over, or when the old one is not valid now.
    /// - Returns: The certificates that were renewed; nil if none.
    /// - Throws: ``AuthorityError``; the old certificate then stays in use.
    func renewIfDue() async throws -> Renewal? {
        let before = state.withLock { $0.identity }
        guard before.needsRenewal(hosts: hosts, now: store.time.date) else { return nil }
        let identity = try await store.serverIdentity(hosts: hosts)
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8)).map { .certificate($0) }
        override.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
        let isNewRoot = identity.rootPEM != before.rootPEM
        // First, so that a failure is tried again.
        if isNewRoot { try await store.rememberRoot(identity.rootPEM, insteadOf: before.rootPEM) }
        state.withLock { $0 = State(identity: identity, override: override) }
        if isNewRoot { return .certificateAndRoot }
        return identity.keyPEM == before.keyPEM ? .certificate : .certificateAndKey
    }

    /// Makes every TLS handshake use the current certificate.
    func attach(to tls: inout TLSConfiguration) {
        tls.sslContextCallback = { _, promise in
            promise.succeed(self.state.withLock { $0.override })
        }
    }
}
