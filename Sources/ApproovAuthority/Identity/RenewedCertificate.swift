internal import Attestation
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate of an authority that makes its own: renewed while it runs, so that one that is never restarted stays reachable.
///
/// Its key stays, and with it the pins; connections that are open keep the certificate they began with.
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
        // What the listener begins with needs no override.
        state = Mutex(State(identity: identity, override: .noChanges))
    }

    /// What was made again.
    enum Renewal: Sendable {
        case certificate, certificateAndRoot
    }

    /// Makes a new certificate when half of the old one's life is over, or it does not hold now.
    /// - Returns: What it made; nil for nothing.
    /// - Throws: ``AuthorityError``; the old certificate goes on.
    func renewIfDue() async throws -> Renewal? {
        let before = state.withLock { $0.identity }
        guard before.needsRenewal(hosts: hosts, now: store.time.date) else { return nil }
        let identity = try await store.serverIdentity(hosts: hosts)
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificatePEM.utf8)).map { .certificate($0) }
        override.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
        state.withLock { $0 = State(identity: identity, override: override) }
        guard identity.rootPEM != before.rootPEM else { return .certificate }
        try await store.rememberRoot(identity.rootPEM, insteadOf: before.rootPEM)
        return .certificateAndRoot
    }

    /// Hands every handshake the certificate in force.
    func attach(to tls: inout TLSConfiguration) {
        tls.sslContextCallback = { _, promise in
            promise.succeed(self.state.withLock { $0.override })
        }
    }
}
