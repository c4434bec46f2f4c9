public import ApproovBase
public import Attestation
import CertificatePinning
public import Foundation
public import HTTPClient
public import Logging
import Synchronization

/// Gets attestation tokens and keeps the configuration: one for an app and an account, shared by its sessions.
///
/// ```swift
/// let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
/// let result = await service.fetchToken(for: URL(string: "https://api.example.com/shapes")!, binding: "Bearer …")
/// ```
///
/// An ``ApproovSession`` does this for every request by itself.
public final class ApproovService: Sendable {
    /// Names this installation to the account.
    public let deviceID: DeviceID
    let keeper: ConfigurationKeeper
    let transport: any HTTPTransport
    let time: any TimeSource
    let logger: Logger
    private let authority: AuthorityClient
    private let tokens: TokenCache
    private let limits: ApproovServiceLimits
    private let refresh: SharedRefresh
    private let heardAt: LastHeard

    /// Sets a service up.
    ///
    /// Nothing is sent before the first token is asked for, or the first request of a session.
    ///
    /// - Parameters:
    ///   - configuration: The initial configuration.
    ///   - stateDirectory: Where the installation key and the dynamic configuration are kept; made, with mode 0700, when missing.
    ///   - attester: What makes evidence; nil: an `InstallationAttester` in the state directory.
    ///   - store: What keeps the dynamic configuration; nil: a ``FileConfigurationStore`` in the state directory.
    ///   - transport: What sends requests; nil: a `CurlTransport`.
    ///   - clock: Where the time comes from.
    ///   - limits: Bounds.
    ///   - proxy: The proxy to reach the authority through; nil: none. A session's own proxies are for its requests alone.
    ///   - logger: Where changes and refusals of configurations are reported. No token, binding or header value is ever logged.
    /// - Throws: ``ApproovError`` `initializationError` naming the part that could not be set up and the remedy.
    public init(
        configuration: ApproovConfiguration, stateDirectory: URL, attester: (any Attester)? = nil,
        store: (any ConfigurationStore)? = nil, transport: (any HTTPTransport)? = nil, clock: any TimeSource = SystemTimeSource(),
        limits: ApproovServiceLimits = ApproovServiceLimits(), proxy: ProxyConfiguration? = nil, logger: Logger = Logger(label: "approov")
    ) throws {
        do {
            let initial = configuration.initial
            let attester = try attester ?? InstallationAttester(stateDirectory: stateDirectory, time: clock)
            self.transport = try transport ?? CurlTransport()
            let keeper = try ConfigurationKeeper(
                initial: initial, store: store ?? FileConfigurationStore(directory: stateDirectory), time: clock, logger: logger)
            let authority = AuthorityClient(
                initial: initial, transport: self.transport, attester: attester, time: clock, timeout: limits.exchangeTimeout,
                proxy: proxy)
            deviceID = attester.deviceID
            time = clock
            self.logger = logger
            self.limits = limits
            self.keeper = keeper
            self.authority = authority
            refresh = SharedRefresh(interval: limits.configurationCheckInterval, time: clock)
            let heardAt = LastHeard()
            self.heardAt = heardAt
            tokens = TokenCache(capacity: max(1, limits.cachedTokens), fetchTimeout: limits.fetchTimeout, time: clock) { key in
                let outcome = await Self.fetch(key, from: authority, keeper: keeper)
                if case .token = outcome { heardAt.note(clock.uptime) }
                return outcome
            }
        } catch {
            throw ApproovError(.initializationError, "the Approov service could not be set up", cause: error)
        }
    }

    /// Where a program keeps its state by default: `$XDG_STATE_HOME/approov/NAME`, or `$HOME/.local/state/approov/NAME`, where NAME is
    /// that of the executable; without `$HOME` it is in the user's home as the system knows it.
    public static func defaultStateDirectory() -> URL {
        let environment = ProcessInfo.processInfo.environment
        // Foundation asks the system alone for the home, and never $HOME.
        let home =
            environment["HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0, directoryHint: .isDirectory) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser
        let state: URL =
            if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
                URL(filePath: path, directoryHint: .isDirectory)
            } else {
                home.appending(path: ".local/state", directoryHint: .isDirectory)
            }
        let name = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().lastPathComponent
        return state.appending(path: "approov", directoryHint: .isDirectory).appending(path: name, directoryHint: .isDirectory)
    }

    /// The configuration in force.
    public var configuration: DynamicConfiguration { keeper.current.configuration }

    /// Whether the configuration in force is past its date; the one in the initial configuration never is.
    ///
    /// Its pins stay in force, and the authority is asked for a newer one with the next requests.
    public var isConfigurationExpired: Bool { keeper.isExpired }

    /// Waits until the configuration in force is stored, or could not be.
    ///
    /// Only a program that ends soon after a request needs this, and only where it shares its state directory: a version is in force before
    /// it is stored, and stored later while another process stores.
    ///
    /// - Parameter patience: How long to wait at most.
    /// - Returns: Whether it is stored; without it a restart returns to what is stored.
    @discardableResult
    public func finishStoring(within patience: Duration = .seconds(5)) async -> Bool { await keeper.finishStoring(within: patience) }

    /// What happens to the configuration from now on; the first listener also hears what happened before it came.
    ///
    /// - Returns: A stream that ends with the service. Of what is not read, the newest sixteen events are kept.
    public func configurationEvents() -> AsyncStream<ConfigurationEvent> { keeper.events.stream() }

    /// A token for the host of a URL, from the cache or from the authority.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value that the token is bound to; only its hash leaves this call. nil: nothing is bound. A value of spaces and tabs
    ///     alone gets no token, but the status `badPayload`.
    /// - Returns: The token, or the status that says why there is none. Waits at most as long as the limits say.
    public func fetchToken(for url: URL, binding: String? = nil) async -> TokenFetchResult {
        switch tokenKey(for: url, binding: binding) {
        case .success(let key): await token(for: key)
        case .failure(let failure): TokenFetchResult(status: failure.status, error: failure.error)
        }
    }

    /// Begins to fetch a token that will be needed soon; does nothing when it is there, or the host gets none.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value that the token will be bound to.
    public func prefetch(for url: URL, binding: String? = nil) {
        guard case .success(let key) = tokenKey(for: url, binding: binding) else { return }
        tokens.prefetch(key)
    }

    /// Asks the authority for a newer configuration and takes it up.
    ///
    /// Nobody needs to call this for the sake of freshness: every attestation brings what is new, and a session that needs none asks once
    /// in ``ApproovServiceLimits/configurationMaximumAge``, behind its requests. A program whose very first request must know what was
    /// added since its initial configuration was made calls this before.
    ///
    /// - Returns: Whether another version is in force now.
    /// - Throws: ``ApproovError`` when the authority gave no answer. A configuration that is refused is reported as an event, not here.
    public func refreshConfiguration() async throws -> Bool {
        do {
            return try await takeUpConfiguration()
        } catch {
            throw error.error
        }
    }

    private func takeUpConfiguration() async throws(AuthorityFailure) -> Bool {
        // Also while the authority cannot be reached, which is when they pass.
        keeper.checkDates()
        let candidates = try await authority.configurations(since: keeper.current)
        heardAt.note(time.uptime)
        return await keeper.offer(candidates)
    }

    /// The number of tokens in the cache.
    public var cachedTokenCount: Int { tokens.count }

    /// Whether a fetch is under way.
    var isFetching: Bool { !tokens.isIdle }

    /// Whether the authority is being asked for a newer configuration.
    var isRefreshing: Bool { refresh.isRunning }

    /// The token, if it can be had without waiting.
    func cachedToken(for key: TokenKey) -> TokenFetchResult? { tokens.cached(key) }

    /// The token, waited for when it is not there.
    func token(for key: TokenKey) async -> TokenFetchResult { await tokens.token(for: key) }

    /// Begins to fetch tokens, unbound or bound to one value, for the hosts that the configuration names.
    ///
    /// A pattern such as `*.example.com` names none: which of its hosts will be called is not known.
    func prefetchAll(binding: String?) {
        let keys = keeper.current.protectedHosts.lazy.filter { $0.settings.attested && !$0.settings.oblivious }
            .compactMap { entry in (try? CanonicalHost(entry.name)).map { TokenKey(host: $0, entry: entry, binding: binding) } }
        // More than these an app is unlikely to call at once, and the rest comes when it is needed.
        for key in keys.prefix(16) { tokens.prefetch(key) }
    }

    /// Does beforehand what a first fetch does before it knows the binding: the connection, the configuration, a challenge.
    func warmUp() async {
        do {
            _ = try await takeUpConfiguration()
            try await authority.warmUp(under: keeper.current)
        } catch {
            logger.info("the authority could not be warmed up", metadata: ["error": "\(error.error)"])
        }
    }

    /// Asks for a newer configuration because a server's pins did not match; many callers share one answer, and it is not asked often.
    ///
    /// - Returns: Once the question has been answered.
    func recheckConfiguration() async {
        await refresh.run { [self] in _ = try? await refreshConfiguration() }
    }

    /// Asks for a newer configuration behind a request that needs no token, when the authority was not heard for long: hosts may have
    /// been added, and pins changed, and nothing else would tell.
    func keepConfigurationFresh() {
        guard !heardAt.isWithin(limits.configurationMaximumAge, of: time.uptime) else { return }
        refresh.start { [self] in _ = try? await refreshConfiguration() }
    }

    private func tokenKey(for url: URL, binding: String?) -> Result<TokenKey, AuthorityFailure> {
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            return .failure(AuthorityFailure(.badURL, ApproovError(.badRequest, "no token for this URL", cause: error)))
        }
        guard target.isSecure else {
            return .failure(
                AuthorityFailure(.badURL, ApproovError(.badRequest, "tokens travel over https only: call \(target.host) with an https URL"))
            )
        }
        guard let entry = keeper.current.protectedHost(for: target.host) else {
            return .failure(
                AuthorityFailure(
                    .unknownURL,
                    ApproovError(.permanentError, "the configuration has no entry for \(target.host): add it with `approov api -add`")))
        }
        guard entry.settings.attested else {
            return .failure(
                AuthorityFailure(.unprotectedURL, ApproovError(.permanentError, "the configuration gives \(target.host) no tokens")))
        }
        if let binding, Binding.isEmpty(binding) {
            return .failure(
                AuthorityFailure(
                    .badPayload,
                    ApproovError(.bindingMissing, "the binding is empty: give the value that the token is bound to, or nil for none")))
        }
        return .success(TokenKey(host: target.host, entry: entry, binding: binding))
    }

    private static func fetch(
        _ key: TokenKey, from authority: AuthorityClient, keeper: ConfigurationKeeper
    ) async -> TokenFetchOutcome {
        keeper.checkDates()
        do {
            let (result, since) = try await authority.attest(key, under: keeper.current)
            let isChanged = await keeper.offer(result.configurations)
            return .token(
                TokenFetchResult(result, isConfigChanged: isChanged), lifetime: .seconds(result.expiresIn), since: since)
        } catch {
            return .failure(TokenFetchResult(status: error.status, error: error.error), retryAfter: error.retryAfter)
        }
    }
}

/// When the authority last said what the configuration is.
private final class LastHeard: Sendable {
    private let at = Mutex<Duration?>(nil)

    func note(_ now: Duration) { at.withLock { $0 = now } }

    func isWithin(_ age: Duration, of now: Duration) -> Bool { at.withLock { $0.map { now - $0 < age } ?? false } }
}
