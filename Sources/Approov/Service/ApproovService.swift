public import ApproovBase
public import Attestation
import CertificatePinning
public import Foundation
public import HTTPClient
public import Logging
import Synchronization

/// Gets attestation tokens and keeps the configuration up to date.
///
/// An app makes one service per account and shares it among its sessions.
///
/// ```swift
/// let service = try ApproovService(configuration: .bundled(), stateDirectory: ApproovService.defaultStateDirectory())
/// let result = await service.fetchToken(for: URL(string: "https://api.example.com/shapes")!, binding: "Bearer …")
/// ```
///
/// An ``ApproovSession`` fetches tokens for its requests automatically.
public final class ApproovService: Sendable {
    /// Identifies this installation to the account.
    public let deviceID: DeviceID
    let keeper: ConfigurationKeeper
    let transport: any HTTPTransport
    let time: any TimeSource
    let logger: Logger
    let authority: AuthorityClient
    private let tokens: TokenCache
    let limits: ApproovServiceLimits
    private let refresh: SharedRefresh
    let notes: AttestationNotes
    private let renewals = Mutex(TokenRenewalState())
    /// Whether the answer to a renewed token is missing; outside of the lock, because every response to a token looks here.
    private let isRenewalOpen = Atomic(false)
    let last: LastResult
    /// Signs with the installation key; nil if the attester cannot.
    let installationSigner: (any InstallationSigner)?
    var accountKey: AccountKey { notes.accountKey }
    var strings: SecureStrings { notes.strings }

    /// Sets up a service.
    ///
    /// The service sends nothing until a token is asked for or a session sends its first request.
    ///
    /// - Parameters:
    ///   - configuration: The initial configuration.
    ///   - stateDirectory: The folder of the installation key and the dynamic configuration; created with mode 0700 when missing.
    ///   - attester: Makes the evidence; nil means an `InstallationAttester` in the state directory.
    ///   - store: Stores the dynamic configuration; nil means a ``FileConfigurationStore`` in the state directory.
    ///   - transport: Sends the requests; nil means a `CurlTransport`.
    ///   - clock: The clock.
    ///   - limits: The bounds of the service.
    ///   - proxy: The proxy for requests to the authority; nil means none. A session's proxies apply only to the session's requests.
    ///   - developmentKey: The account's development key, as `approov devkey -get` prints it; nil in every build that you ship. With it, an
    ///     unregistered build gets tokens, whose claim `anno` contains `dev-key`. The key is never sent or logged. Your own attester must
    ///     support it (`EvidenceRequest.developmentProof(of:)`).
    ///   - logger: Receives changes and refusals of configurations. Tokens, bindings and header values are never logged.
    /// - Throws: ``ApproovError`` with code `initializationError` when a part cannot be set up, which the message names with the remedy, or
    ///   when the development key is malformed.
    public init(
        configuration: ApproovConfiguration, stateDirectory: URL, attester: (any Attester)? = nil,
        store: (any ConfigurationStore)? = nil, transport: (any HTTPTransport)? = nil, clock: any TimeSource = SystemTimeSource(),
        limits: ApproovServiceLimits = ApproovServiceLimits(), proxy: ProxyConfiguration? = nil, developmentKey: String? = nil,
        logger: Logger = Logger(label: "approov")
    ) throws {
        do {
            if let transport = transport as? any TestOnlyTransport {
                throw ApproovError(
                    .initializationError,
                    "\(type(of: transport)) does not reach the authority; attest over another transport, or make a session without a service"
                )
            }
            let initial = configuration.initial
            let developmentKey = try developmentKey.map { try DevelopmentKey(base64url: $0) }
            let attester = try attester ?? InstallationAttester(stateDirectory: stateDirectory, time: clock)
            self.transport = try transport ?? CurlTransport()
            let keeper = try ConfigurationKeeper(
                initial: initial, store: store ?? FileConfigurationStore(directory: stateDirectory), time: clock, logger: logger)
            let backoff = AuthorityBackoff(time: clock)
            let authority = AuthorityClient(
                initial: initial, transport: self.transport, attester: attester, developmentKey: developmentKey, time: clock,
                backoff: backoff, timeout: limits.exchangeTimeout, proxy: proxy)
            deviceID = attester.deviceID
            installationSigner = attester as? any InstallationSigner
            time = clock
            self.logger = logger
            self.limits = limits
            self.keeper = keeper
            self.authority = authority
            refresh = SharedRefresh(interval: limits.configurationCheckInterval, time: clock)
            let last = LastResult()
            self.last = last
            let notes = AttestationNotes(
                strings: SecureStrings(
                    time: clock,
                    instance: InstanceStrings(
                        folder: stateDirectory, seal: ValueSeal(attester, for: InstanceStrings.purpose(account: initial.account)))))
            self.notes = notes
            tokens = TokenCache(
                capacity: max(1, limits.cachedTokens), fetchTimeout: limits.fetchTimeout, time: clock, backoff: backoff
            ) { key in
                let outcome = await Self.fetch(key, AttestationDemand(), from: authority, keeper: keeper, notes, at: clock)
                last.note(outcome.result)
                return outcome
            }
        } catch {
            throw ApproovError(.initializationError, "the Approov service could not be set up", cause: error)
        }
    }

    /// The folder where a program keeps its state by default.
    ///
    /// `$XDG_STATE_HOME/approov/NAME`, or `$HOME/.local/state/approov/NAME`, where NAME is the executable's name. If `$HOME` is not set,
    /// the home folder comes from the system's user database. Paths in these variables must be absolute; others are ignored.
    public static func defaultStateDirectory() -> URL {
        let environment = ProcessInfo.processInfo.environment
        // Foundation takes the home folder from the user database only and ignores $HOME.
        let home =
            environment["HOME"].flatMap { $0.hasPrefix("/") ? URL(filePath: $0, directoryHint: .isDirectory) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser
        let state: URL =
            if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
                URL(filePath: path, directoryHint: .isDirectory)
            } else {
                home.appending(path: ".local/state", directoryHint: .isDirectory)
            }
        let name = URL(filePath: RunningExecutable.path).lastPathComponent
        return state.appending(path: "approov", directoryHint: .isDirectory).appending(path: name, directoryHint: .isDirectory)
    }

    /// The configuration in force.
    public var configuration: DynamicConfiguration { keeper.current.configuration }

    /// Whether the configuration in force is past its expiry date.
    ///
    /// An expired configuration's pins stay in force, and the service asks the authority for a newer version with the next requests. The
    /// initial configuration never expires.
    public var isConfigurationExpired: Bool { keeper.isExpired }

    /// Waits until the configuration in force is stored or storing has failed.
    ///
    /// A version takes effect before it is stored, and it is not stored while another process uses the store. Only a program that shares
    /// its state directory with other processes and ends right after a request needs this call.
    ///
    /// - Parameter patience: The longest time to wait.
    /// - Returns: Whether it is stored. If not, a restart begins with the version in the store.
    @discardableResult
    public func finishStoring(within patience: Duration = .seconds(5)) async -> Bool { await keeper.finishStoring(within: patience) }

    /// Streams what happens to the configuration from now on; the first listener also receives earlier events.
    ///
    /// - Returns: A stream that ends with the service. It buffers the newest 16 unread events.
    public func configurationEvents() -> AsyncStream<ConfigurationEvent> { keeper.events.stream() }

    /// Returns a token for the host of a URL, from the cache or from the authority.
    ///
    /// Waits at most as long as ``ApproovServiceLimits/fetchTimeout``.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value to tie the token to; nil for none. Only its hash leaves this call. For a value of only spaces and tabs, the
    ///     result has the status `badPayload` and no token.
    /// - Returns: The token, or the status and error that say why it is missing.
    public func fetchToken(for url: URL, binding: String? = nil) async -> TokenFetchResult {
        switch tokenKey(for: url, binding: binding) {
        case .success(let key): await token(for: key)
        case .failure(let failure): TokenFetchResult(failure)
        }
    }

    /// Starts fetching a token that the app will need soon.
    ///
    /// Does nothing if the cache has a fresh token or the host gets none.
    ///
    /// - Parameters:
    ///   - url: An https URL.
    ///   - binding: The value to tie the token to; nil for none.
    public func prefetch(for url: URL, binding: String? = nil) {
        guard case .success(let key) = tokenKey(for: url, binding: binding) else { return }
        tokens.prefetch(key)
    }

    /// Asks the authority for a newer configuration and puts it in force.
    ///
    /// Apps rarely need this call. Every attestation brings the newest configuration, and a session that needs no tokens asks once per
    /// ``ApproovServiceLimits/configurationMaximumAge``, in the background. Call it before the first request if that request must know
    /// changes made after the initial configuration was exported.
    ///
    /// - Returns: Whether the version in force changed.
    /// - Throws: ``ApproovError`` when the authority did not answer. A refused configuration is reported as an event and throws nothing.
    public func refreshConfiguration() async throws -> Bool {
        do {
            return try await takeUpConfiguration()
        } catch {
            throw error.error
        }
    }

    private func takeUpConfiguration() async throws(AuthorityFailure) -> Bool {
        try await Self.takeUpConfiguration(from: authority, keeper, notes, at: time)
    }

    /// Asks for newer configurations and puts them in force.
    ///
    /// - Returns: Whether the configuration in force changed.
    /// - Throws: ``AuthorityFailure``.
    private static func takeUpConfiguration(
        from authority: AuthorityClient, _ keeper: ConfigurationKeeper, _ notes: AttestationNotes, at time: any TimeSource
    ) async throws(AuthorityFailure) -> Bool {
        // Check before asking: dates also pass while the authority is unreachable.
        keeper.checkDates()
        let snapshot = keeper.current
        let candidates = try await authority.configurations(since: snapshot)
        notes.heardAt.note(time.uptime)
        return await keeper.offer(candidates, askedUnder: snapshot.configuration.version)
    }

    /// Drops tokens from the cache, for example when the user logs out.
    ///
    /// A fetch that is running for such a token still answers its callers, but what it brings is not kept. The next request fetches another
    /// token.
    ///
    /// - Parameters:
    ///   - binding: The value that the tokens are bound to; nil for any value and for unbound tokens. For several binding headers, give
    ///     their trimmed values, joined without a separator.
    ///   - host: The host that the tokens are for; nil for every host. Never a pattern.
    /// - Returns: The number of tokens that were in the cache.
    @discardableResult
    public func forgetTokens(boundTo binding: String? = nil, host: String? = nil) -> Int {
        let payHash = binding.map(Binding.payHash)
        let name = host.flatMap { try? CanonicalHost($0) }?.name
        // A name without canonical form has no tokens.
        guard host == nil || name != nil else { return 0 }
        return tokens.forget { (payHash == nil || $0.payHash == payHash) && (name == nil || $0.host == name) }
    }

    /// Forgets the tokens that are bound, including those that are being fetched, as far as they are for one of the hosts.
    ///
    /// - Parameter hosts: The hosts; nil for all.
    func forgetBoundTokens(of hosts: [HostPattern]?) {
        _ = tokens.forget { key in
            guard key.payHash != nil else { return false }
            guard let hosts, let host = try? CanonicalHost(key.host) else { return true }
            return hosts.contains { $0.matches(host) }
        }
    }

    /// Forgets the token with this key, even one that is being fetched.
    func forgetToken(for key: TokenKey) { tokens.forget(key) }

    /// Forgets a token that its API rejected, so that the next request gets another one.
    ///
    /// Does so only for a token older than 30 s, and at most once per host in 30 s; the time doubles while the API rejects the new tokens.
    ///
    /// - Parameter token: The token.
    /// - Returns: Whether the token was forgotten, so that another attempt, or the next request, gets another one.
    func renew(_ token: SentToken) -> Bool {
        let now = time.uptime
        guard let life = token.life else { return false }
        let renews = renewals.withLock { state in
            let renews = state.renews(token.key.host, life: life, now: now)
            isRenewalOpen.store(state.isOpen, ordering: .relaxed)
            return renews
        }
        if renews { tokens.forget(token.text, for: token.key) }
        return renews
    }

    /// Records that an API accepted a token, which counts if it is newer than the one that the API rejected.
    func noteAccepted(_ token: SentToken) {
        guard isRenewalOpen.load(ordering: .relaxed), let life = token.life else { return }
        renewals.withLock { state in
            state.accepted(token.key.host, life: life)
            isRenewalOpen.store(state.isOpen, ordering: .relaxed)
        }
    }

    /// The number of tokens in the cache.
    public var cachedTokenCount: Int { tokens.count }

    /// Whether a token fetch is running.
    var isFetching: Bool { !tokens.isIdle }

    /// Whether a request for a newer configuration is running.
    var isRefreshing: Bool { refresh.isRunning }

    /// Returns the token if the cache has it.
    func cachedToken(for key: TokenKey) -> TokenFetchResult? { tokens.cached(key) }

    /// Returns the token from the cache, or waits for a fetch.
    func token(for key: TokenKey) async -> TokenFetchResult { await tokens.token(for: key) }

    /// Starts fetching tokens for the hosts of the configuration, unbound or all bound to one value.
    ///
    /// Skips oblivious hosts, and patterns such as `*.example.com`: the app has not said which of their hosts it will call.
    func prefetchAll(binding: String?) {
        let keys = keeper.current.protectedHosts.lazy.filter { $0.settings.attested && !$0.settings.oblivious }
            .compactMap { entry in (try? CanonicalHost(entry.name)).map { TokenKey(host: $0, entry: entry, binding: binding) } }
        // An app is unlikely to call more hosts than this at once. The other tokens are fetched when they are needed.
        for key in keys.prefix(16) { tokens.prefetch(key) }
    }

    /// Does the part of a first fetch that needs no binding: connects, gets the newest configuration and a challenge.
    func warmUp() async {
        do {
            _ = try await takeUpConfiguration()
            try await authority.warmUp(under: keeper.current)
        } catch {
            logger.info("the first token could not be prepared", metadata: ["error": "\(error.error)"])
        }
    }

    /// Asks for a newer configuration because a server's pins did not match.
    ///
    /// Concurrent callers share one answer. Returns at once if the last question began less than
    /// ``ApproovServiceLimits/configurationCheckInterval`` ago.
    func recheckConfiguration() async {
        await refresh.run { [self] in _ = try? await refreshConfiguration() }
    }

    /// Asks for a newer configuration in the background if the authority's last word is older than the limit.
    ///
    /// Requests without tokens call this: otherwise the app would never learn of new hosts and pins.
    func keepConfigurationFresh() {
        guard !notes.heardAt.isWithin(limits.configurationMaximumAge, of: time.uptime) else { return }
        refresh.start { [self] in _ = try? await refreshConfiguration() }
    }

    func tokenKey(for url: URL, binding: String?) -> Result<TokenKey, AuthorityFailure> {
        let target: TransportURL
        do {
            target = try TransportURL(url)
        } catch {
            return .failure(
                AuthorityFailure(.badURL, ApproovError(.badRequest, "no token: this URL cannot be requested; see the cause", cause: error)))
        }
        guard target.isSecure else {
            return .failure(
                AuthorityFailure(.badURL, ApproovError(.badRequest, "tokens travel over https only: call \(target.host) with an https URL"))
            )
        }
        let configuration = keeper.current
        guard let entry = configuration.protectedHost(for: target.host), entry.settings.attested else {
            return .failure(.noTokens(for: target.host, under: configuration))
        }
        if let binding, Binding.isEmpty(binding) {
            return .failure(
                AuthorityFailure(
                    .badPayload,
                    ApproovError(.bindingMissing, "the binding is empty: give the value that the token is bound to, or nil for none")))
        }
        return .success(TokenKey(host: target.host, entry: entry, binding: binding))
    }

    static func fetch(
        _ key: TokenKey, _ demand: AttestationDemand, from authority: AuthorityClient, keeper: ConfigurationKeeper,
        _ notes: AttestationNotes, at time: any TimeSource
    ) async -> TokenFetchOutcome {
        keeper.checkDates()
        do {
            let snapshot = keeper.current
            let (result, since) = try await authority.attest(key, demand, under: snapshot)
            let isChanged = await keeper.offer(result.configurations, askedUnder: snapshot.configuration.version)
            let life = TokenLife(since: since, length: .seconds(result.expiresIn))
            let fetched = TokenFetchResult(result, isConfigChanged: isChanged, life: life).asked(for: key.host, at: time.date)
            // The host may just have become an oblivious one.
            let rule = (try? CanonicalHost(key.host)).flatMap(keeper.current.protectedHost)
            let isOblivious = key.isOblivious || rule?.settings.oblivious == true
            notes.note(result, as: fetched, isOblivious: isOblivious, life, at: time.uptime)
            return .token(fetched, lifetime: life.length, since: since)
        } catch {
            let result = await failed(error, key, authority, keeper, notes, at: time)
            return .failure(result.asked(for: key.host, at: time.date))
        }
    }

    /// The result of a fetch that failed.
    ///
    /// An authority that issues no tokens for the host any more refuses the evidence, and no other answer brings this client the
    /// configuration that says so: it asks for that one, and puts it in force.
    private static func failed(
        _ failure: AuthorityFailure, _ key: TokenKey, _ authority: AuthorityClient, _ keeper: ConfigurationKeeper,
        _ notes: AttestationNotes, at time: any TimeSource
    ) async -> TokenFetchResult {
        guard failure.problem == .unknownHost, let host = try? CanonicalHost(key.host),
            let isChanged = try? await takeUpConfiguration(from: authority, keeper, notes, at: time)
        else { return TokenFetchResult(failure) }
        let configuration = keeper.current
        guard configuration.protectedHost(for: host)?.settings.attested != true else { return TokenFetchResult(failure) }
        let reason = AuthorityFailure.noTokens(for: host, under: configuration)
        return TokenFetchResult(status: reason.status, isConfigChanged: isChanged, error: reason.error)
    }
}
