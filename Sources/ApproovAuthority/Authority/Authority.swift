public import ApproovBase
internal import Attestation
internal import CertificatePinning
public import Foundation
internal import HTTPServing
public import Logging
public import ServiceLifecycle

/// The authority: issues challenges, judges evidence, and issues tokens and signed configurations.
///
/// One store holds one account.
///
///     let authority = try Authority(store: AuthorityStore(directory: directory), configuration: AuthorityConfiguration(port: 8443))
///     try await ServiceGroup(services: [authority], gracefulShutdownSignals: [.sigterm], logger: logger).run()
///
/// On graceful shutdown it accepts no more connections, lets open requests finish within the configuration's `limits.drain`, and returns.
public struct Authority: Service, CustomStringConvertible {
    private let store: AuthorityStore
    private let configuration: AuthorityConfiguration
    private let time: any TimeSource
    private let logger: Logger
    private let onReady: @Sendable (URL) async -> Void

    /// The name only: ServiceLifecycle logs the description, and the configuration may hold a private key.
    public var description: String { "Authority" }

    /// Creates an authority, which listens once it is run.
    /// - Parameters:
    ///   - store: The account's store.
    ///   - configuration: How the authority is served.
    ///   - time: The clock.
    ///   - logger: Receives verdicts and failures, but no token, key, address or device.
    ///   - onReady: Called with the URL once the authority listens.
    /// - Throws: ``AuthorityError`` with code `invalidConfiguration`; with code `insecureListener` for plain HTTP on an address that is not
    ///   loopback; with code `demoKeysExposed` for the demo account on such an address.
    public init(
        store: AuthorityStore, configuration: AuthorityConfiguration, time: any TimeSource = SystemTimeSource(),
        logger: Logger = Logger(label: "approov.authority"), onReady: @escaping @Sendable (URL) async -> Void = { _ in }
    ) throws {
        try AuthoritySettings.check(configuration, store: store)
        self.store = store
        self.configuration = configuration
        self.time = time
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or a graceful shutdown is requested.
    /// - Throws: ``AuthorityError`` with code `identityFailed` or `demoKeysExposed`; with code `invalidConfiguration` when the operator's
    ///   certificate has no backup pin or a repeated one; with code `cannotListen`; with code `storeNewer` once a later release has
    ///   upgraded the store.
    public func run() async throws {
        let listener = try await AuthorityListener(configuration, store: store)
        try AuthoritySettings.check(pins: listener.pins, configuration)
        let audience = PublicAudience()
        let verifier = AttestationVerifier(
            store: store, time: time, tokenLifetime: Int64(configuration.tokenLifetime), audience: audience, metrics: AuthorityMetrics())
        let limiter = configuration.attestationsPerMinute.map {
            AddressRateLimiter(perMinute: $0, capacity: configuration.limits.rememberedAddresses)
        }
        let routes = AuthorityRoutes(verifier: verifier, limiter: limiter, limits: configuration.limits)
        let unwritten = UnwrittenEndpoint()
        let upkeep = AuthorityUpkeep(store: store, unwritten: unwritten, renewal: listener.renewal, time: time, logger: logger)
        let server = HTTPListener(
            address: ListenerAddress(host: configuration.host, port: configuration.port, tls: listener.tls),
            limits: configuration.limits.ofListener, proxies: try AuthoritySettings.proxies(configuration.trustedProxies))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await upkeep.run() }
            group.addTask {
                do {
                    try await server.run(router: routes.router(), logger: logger) { port in
                        await announce(port: port, listener: listener, audience: audience, unwritten: unwritten)
                    }
                } catch let failure as ListenerFailure {
                    throw AuthorityError(failure)
                }
            }
            // When one task ends, the other must end too.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func announce(port: Int, listener: AuthorityListener, audience: PublicAudience, unwritten: UnwrittenEndpoint) async {
        guard let url = AuthoritySettings.publicURL(configuration, port: port) else { return }
        audience.set(AudienceName(url.absoluteString))
        do {
            if !listener.pins.isEmpty {
                try await warnOfUnknownKey(listener)
                let endpoint = Endpoint(url: try await urlToRemember(url), pins: listener.pins, trustRoots: listener.trustRoots)
                do {
                    try await store.remember(endpoint)
                } catch {
                    // The upkeep tries again, and logs the failure.
                    unwritten.set(endpoint)
                }
            }
        } catch {
            logger.error(
                "the authority's earlier URL cannot be read from the store, so its URL and pins are not written; restart it",
                metadata: ["error": "\(error)"])
        }
        await onReady(url)
    }

    /// The URL to put into initial configurations that are written later.
    ///
    /// A default address does not replace a URL that apps on other machines use.
    private func urlToRemember(_ url: URL) async throws -> URL {
        guard let known = try await store.endpoint()?.url, AudienceName(known.absoluteString) != AudienceName(url.absoluteString) else {
            return url
        }
        let isReplaced = configuration.publicURL != nil || ListenerAddress.isLoopback(known.host() ?? "")
        let remedy =
            isReplaced
            ? "serve the earlier URL again, or ship apps a new initial configuration: approov sdk -getConfig FILE"
            : "serve the URL that they know: approov serve --public-url URL"
        logger.warning(
            """
            the store was last served under another URL; apps whose initial configuration names that URL ask it, and this server refuses \
            their evidence; if there are such apps, \(remedy)
            """,
            metadata: ["known": "\(known)", "served": "\(url)", "newConfigurationsName": "\(isReplaced ? url : known)"])
        return isReplaced ? url : known
    }

    /// Warns if apps do not know this server's key: they would refuse it, so they could not fetch newer pins from it.
    private func warnOfUnknownKey(_ listener: AuthorityListener) async throws {
        guard let known = try await store.endpoint() else { return }
        if Set(known.pins).isDisjoint(with: listener.presentedPins) {
            logger.warning(
                """
                existing apps do not know this server's key and will refuse it, because it is not one of the keys or backup keys that the \
                authority was served with before; serve with a backup key, or ship apps a new initial configuration
                """, metadata: ["presented": "\(listener.presentedPins)", "known": "\(known.pins)"])
        }
        if known.trustRoots != listener.trustRoots {
            logger.warning(
                "existing apps trust other roots for this server; ship them a new initial configuration: approov sdk -getConfig FILE")
        }
    }
}
